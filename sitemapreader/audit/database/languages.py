"""The codes of hreflang and of news, by ISO 639-1, ISO 15924 and ISO 3166-1.

https://developers.google.com/search/docs/specialty/international/localized-versions
"""

from __future__ import annotations

import re

LANGUAGES = frozenset(
    """
    aa ab ae af ak am an ar as av ay az ba be bg bi bm bn bo br bs ca ce ch co cr cs cu cv cy
    da de dv dz ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht
    hu hy hz ia id ie ig ii ik io is it iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky
    la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn no nr nv ny
    oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg sh si sk sl sm sn so sq sr
    ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi
    yo za zh zu
    """.split()  # noqa: SIM905 (a table)
)
"""ISO 639-1."""
SCRIPTS = frozenset(
    """
    adlm afak aghb ahom arab aran armi armn avst bali bamu bass batk beng berf bhks blis bopo
    brah brai bugi buhd cakm cans cari cham cher chis chrs cirt copt cpmn cprt cyrl cyrs deva
    diak dogr dsrt dupl egyd egyh egyp elba elym ethi gara geok geor glag gong gonm goth gran
    grek gujr gukh guru hanb hang hani hano hans hant hatr hebr hira hluw hmng hmnp hntl hrkt
    hung inds ital jamo java jpan jurc kali kana kawi khar khmr khoj kitl kits knda kore kpel
    krai kthi lana laoo latf latg latn leke lepc limb lina linb lisu loma lyci lydi mahj maka
    mand mani marc maya medf mend merc mero mlym modi mong moon mroo mtei mult mymr nagm nand
    narb nbat newa nkdb nkgb nkoo nshu ogam olck onao orkh orya osge osma ougr palm pauc pcun
    pelm perm phag phli phlp phlv phnx piqd plrd prti psin qaaa qabx ranj rjng rohg roro runr
    samr sara sarb saur seal sgnw shaw shrd shui sidd sidt sind sinh sogd sogo sora soyo sund
    sunu sylo syrc syre syrj syrn tagb takr tale talu taml tang tavt tayo telu teng tfng tglg
    thaa thai tibt tirh tnsa todr tols toto tutg ugar vaii visp vith wara wcho wole xpeo xsux
    yezi yiii zanb zinh zmth zsye zsym zxxx zyyy zzzz
    """.split()  # noqa: SIM905 (a table)
)
"""ISO 15924."""
REGIONS = frozenset(
    """
    ad ae af ag ai al am ao aq ar as at au aw ax az ba bb bd be bf bg bh bi bj bl bm bn bo bq
    br bs bt bv bw by bz ca cc cd cf cg ch ci ck cl cm cn co cr cu cv cw cx cy cz de dj dk dm
    do dz ec ee eg eh er es et fi fj fk fm fo fr ga gb gd ge gf gg gh gi gl gm gn gp gq gr gs
    gt gu gw gy hk hm hn hr ht hu id ie il im in io iq ir is it je jm jo jp ke kg kh ki km kn
    kp kr kw ky kz la lb lc li lk lr ls lt lu lv ly ma mc md me mf mg mh mk ml mm mn mo mp mq
    mr ms mt mu mv mw mx my mz na nc ne nf ng ni nl no np nr nu nz om pa pe pf pg ph pk pl pm
    pn pr ps pt pw py qa re ro rs ru rw sa sb sc sd se sg sh si sj sk sl sm sn so sr ss st sv
    sx sy sz tc td tf tg th tj tk tl tm tn to tr tt tv tw tz ua ug um us uy uz va vc ve vg vi
    vn vu wf ws ye yt za zm zw
    """.split()  # noqa: SIM905 (a table)
)
"""ISO 3166-1 alpha-2."""

X_DEFAULT = "x-default"
_MEANT = {
    "uk": "the United Kingdom is GB; uk is Ukrainian",
    "eu": "the European Union is not a region: name a country",
    "un": "no region of ISO 3166-1: name a country",
    "419": "Latin America is not a region of ISO 3166-1: name a country, or leave the region out",
    "en": "a language, not a region",
    "jp": "Japanese is ja",
    "cn": "Chinese is zh, such as zh-Hans",
    "cz": "Czech is cs",
    "dk": "Danish is da",
    "gr": "Greek is el",
    "kr": "Korean is ko",
    "us": "a region, not a language: en-US",
    "gb": "a region, not a language: en-GB",
    "br": "Portuguese of Brazil is pt-BR",
    "iw": "Hebrew is he",
    "in": "Indonesian is id",
}
"""A wrong code -> what was meant."""
_NEWS_CHINESE = ("zh-cn", "zh-tw")
_ISO_639_3 = re.compile(r"[a-z]{2,3}")


def judge_hreflang(code: str) -> tuple[bool, str]:
    """Return whether the value of an hreflang is valid, and a hint if it is not.

    Args:
        code: in lower case.
    """
    if code == X_DEFAULT:
        return True, ""
    language, *others = code.split("-")
    if language not in LANGUAGES:
        hint = "write a hyphen, not an underscore" if "_" in code else _MEANT.get(language, "")
        return False, hint
    if others and len(others[0]) == 4:
        if others[0] not in SCRIPTS:
            return False, f"{others[0]} is not a script of ISO 15924"
        others = others[1:]
    if not others:
        return True, ""
    region = others[0]
    if len(others) > 1:
        return False, "language, script, region, and nothing else"
    return region in REGIONS, "" if region in REGIONS else _MEANT.get(
        region, f"{region} is not a region of ISO 3166-1"
    )


def is_news_language(code: str) -> bool:
    """Return whether a code, in lower case, is one that Google's news sitemaps take.

    These are the codes of ISO 639-1 and 639-2, and two codes of Chinese.
    """
    if code in _NEWS_CHINESE:
        return True
    return _ISO_639_3.fullmatch(code) is not None and (len(code) == 3 or code in LANGUAGES)

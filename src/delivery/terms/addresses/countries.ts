/**
 * Reads countries as people and other services write them.
 *
 * Sources: the codes of ISO 3166-1 (https://www.iso.org/obp/ui/#iso:pub:PUB500001:en), with the user-assigned `XK`,
 * which CLDR and phone numbering plans use for Kosovo; the names of CLDR (https://cldr.unicode.org), which Node.js
 * brings; and the short names of the United Nations (https://unstats.un.org/unsd/methodology/m49/), which many web forms
 * offer.
 */

/** Alpha-2, alpha-3 and, for all but Kosovo, the number. */
const CODES = `
AD AND 020 AE ARE 784 AF AFG 004 AG ATG 028 AI AIA 660 AL ALB 008 AM ARM 051 AO AGO 024 AQ ATA 010 AR ARG 032
AS ASM 016 AT AUT 040 AU AUS 036 AW ABW 533 AX ALA 248 AZ AZE 031 BA BIH 070 BB BRB 052 BD BGD 050 BE BEL 056
BF BFA 854 BG BGR 100 BH BHR 048 BI BDI 108 BJ BEN 204 BL BLM 652 BM BMU 060 BN BRN 096 BO BOL 068 BQ BES 535
BR BRA 076 BS BHS 044 BT BTN 064 BV BVT 074 BW BWA 072 BY BLR 112 BZ BLZ 084 CA CAN 124 CC CCK 166 CD COD 180
CF CAF 140 CG COG 178 CH CHE 756 CI CIV 384 CK COK 184 CL CHL 152 CM CMR 120 CN CHN 156 CO COL 170 CR CRI 188
CU CUB 192 CV CPV 132 CW CUW 531 CX CXR 162 CY CYP 196 CZ CZE 203 DE DEU 276 DJ DJI 262 DK DNK 208 DM DMA 212
DO DOM 214 DZ DZA 012 EC ECU 218 EE EST 233 EG EGY 818 EH ESH 732 ER ERI 232 ES ESP 724 ET ETH 231 FI FIN 246
FJ FJI 242 FK FLK 238 FM FSM 583 FO FRO 234 FR FRA 250 GA GAB 266 GB GBR 826 GD GRD 308 GE GEO 268 GF GUF 254
GG GGY 831 GH GHA 288 GI GIB 292 GL GRL 304 GM GMB 270 GN GIN 324 GP GLP 312 GQ GNQ 226 GR GRC 300 GS SGS 239
GT GTM 320 GU GUM 316 GW GNB 624 GY GUY 328 HK HKG 344 HM HMD 334 HN HND 340 HR HRV 191 HT HTI 332 HU HUN 348
ID IDN 360 IE IRL 372 IL ISR 376 IM IMN 833 IN IND 356 IO IOT 086 IQ IRQ 368 IR IRN 364 IS ISL 352 IT ITA 380
JE JEY 832 JM JAM 388 JO JOR 400 JP JPN 392 KE KEN 404 KG KGZ 417 KH KHM 116 KI KIR 296 KM COM 174 KN KNA 659
KP PRK 408 KR KOR 410 KW KWT 414 KY CYM 136 KZ KAZ 398 LA LAO 418 LB LBN 422 LC LCA 662 LI LIE 438 LK LKA 144
LR LBR 430 LS LSO 426 LT LTU 440 LU LUX 442 LV LVA 428 LY LBY 434 MA MAR 504 MC MCO 492 MD MDA 498 ME MNE 499
MF MAF 663 MG MDG 450 MH MHL 584 MK MKD 807 ML MLI 466 MM MMR 104 MN MNG 496 MO MAC 446 MP MNP 580 MQ MTQ 474
MR MRT 478 MS MSR 500 MT MLT 470 MU MUS 480 MV MDV 462 MW MWI 454 MX MEX 484 MY MYS 458 MZ MOZ 508 NA NAM 516
NC NCL 540 NE NER 562 NF NFK 574 NG NGA 566 NI NIC 558 NL NLD 528 NO NOR 578 NP NPL 524 NR NRU 520 NU NIU 570
NZ NZL 554 OM OMN 512 PA PAN 591 PE PER 604 PF PYF 258 PG PNG 598 PH PHL 608 PK PAK 586 PL POL 616 PM SPM 666
PN PCN 612 PR PRI 630 PS PSE 275 PT PRT 620 PW PLW 585 PY PRY 600 QA QAT 634 RE REU 638 RO ROU 642 RS SRB 688
RU RUS 643 RW RWA 646 SA SAU 682 SB SLB 090 SC SYC 690 SD SDN 729 SE SWE 752 SG SGP 702 SH SHN 654 SI SVN 705
SJ SJM 744 SK SVK 703 SL SLE 694 SM SMR 674 SN SEN 686 SO SOM 706 SR SUR 740 SS SSD 728 ST STP 678 SV SLV 222
SX SXM 534 SY SYR 760 SZ SWZ 748 TC TCA 796 TD TCD 148 TF ATF 260 TG TGO 768 TH THA 764 TJ TJK 762 TK TKL 772
TL TLS 626 TM TKM 795 TN TUN 788 TO TON 776 TR TUR 792 TT TTO 780 TV TUV 798 TW TWN 158 TZ TZA 834 UA UKR 804
UG UGA 800 UM UMI 581 US USA 840 UY URY 858 UZ UZB 860 VA VAT 336 VC VCT 670 VE VEN 862 VG VGB 092 VI VIR 850
VN VNM 704 VU VUT 548 WF WLF 876 WS WSM 882 YE YEM 887 YT MYT 175 ZA ZAF 710 ZM ZMB 894 ZW ZWE 716`
  .trim()
  .split(/\s+/);

const triples = CODES.flatMap((alpha2, index) =>
  index % 3 === 0 ? [[alpha2, CODES[index + 1], CODES[index + 2]] as string[]] : [],
);

/** The alpha-2 codes of all countries. */
const countryCodes: ReadonlySet<string> = new Set([...triples.map(([alpha2]) => alpha2 as string), 'XK']);

/** The languages whose names of countries are known. */
const LANGUAGES = (
  'en de fr es pt it nl pl cs sk hu ro bg hr sr sl sv da nb fi is et lv lt el tr ru uk he ar fa hi th vi id ms ja ko ' +
  'zh-Hans zh-Hant ca'
).split(' ');

/** Names that CLDR does not have, and older ones. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  AE: 'UAE|U.A.E.|Emirates',
  BN: 'Brunei Darussalam',
  BO: 'Bolivia, Plurinational State of|Bolivia (Plurinational State of)',
  CD: 'DRC|DR Congo|Congo, Democratic Republic of the|Congo, the Democratic Republic of the|Democratic Republic of the Congo|Zaire',
  CG: 'Congo|Republic of the Congo',
  CH: 'Schweiz/Suisse/Svizzera/Svizra|Helvetia',
  CI: "Ivory Coast|Cote d'Ivoire|Cote d’Ivoire",
  CN: "PRC|P.R. China|People's Republic of China|Mainland China|China, People's Republic of",
  CV: 'Cape Verde|Cabo Verde',
  CZ: 'Czech Republic|Czech Rep.|Česká republika|Tschechische Republik|République tchèque|República Checa|Repubblica Ceca',
  DE: 'BRD|Federal Republic of Germany|Bundesrepublik Deutschland|Germany, Federal Republic of',
  FK: 'Falkland Islands (Malvinas)',
  FM: 'Micronesia, Federated States of|Micronesia (Federated States of)',
  GB: 'UK|U.K.|Great Britain|Britain|England|Scotland|Wales|Northern Ireland|United Kingdom of Great Britain and Northern Ireland|GB-ENG|GB-SCT|GB-WLS|GB-NIR|Großbritannien|Grossbritannien|Grande-Bretagne|Gran Bretaña|Gran Bretagna|Groot-Brittannië|Wielka Brytania|Англия|Великобритания|英国|イギリス',
  GR: 'EL|Hellas|Hellenic Republic',
  HK: 'Hong Kong SAR|Hong Kong, China|Hong Kong (China)',
  IE: 'Eire|Éire|Republic of Ireland|Ireland, Republic of',
  IR: 'Iran, Islamic Republic of|Iran (Islamic Republic of)|Islamic Republic of Iran',
  KN: 'Saint Kitts and Nevis',
  KP: "North Korea|DPRK|Korea, Democratic People's Republic of|Democratic People's Republic of Korea",
  KR: 'South Korea|Republic of Korea|Korea, Republic of|Korea, South|Korea|Korea (South)',
  LA: "Lao People's Democratic Republic|Lao PDR",
  LY: 'Libyan Arab Jamahiriya',
  MD: 'Moldova, Republic of|Republic of Moldova',
  MX: 'Méjico|Mexique|United Mexican States|Estados Unidos Mexicanos',
  MK: 'Macedonia|FYROM|Macedonia, the former Yugoslav Republic of|Republic of North Macedonia',
  MM: 'Burma',
  MO: 'Macau|Macao',
  NL: 'Holland|The Netherlands|Netherlands, The|Netherlands (Kingdom of the)|Niederlande, Königreich der',
  PH: 'The Philippines',
  PS: 'Palestine|Palestine, State of|State of Palestine|Palestinian Territory, Occupied',
  RU: 'Russian Federation|Российская Федерация',
  SH: 'Saint Helena, Ascension and Tristan da Cunha',
  SK: 'Slovak Republic|Slovenská republika|Slowakische Republik',
  SY: 'Syrian Arab Republic',
  SZ: 'Swaziland',
  TL: 'East Timor',
  TR: 'Turkey|Turkiye|Türkiye|Republic of Turkey|Republic of Türkiye',
  TW: 'Taiwan, Province of China|Taiwan, R.O.C.|Chinese Taipei',
  TZ: 'Tanzania, United Republic of|United Republic of Tanzania',
  US: 'U.S.|U.S.A.|United States of America|The United States|The United States of America|America|US of A|Estados Unidos de América|Vereinigte Staaten von Amerika|États-Unis d’Amérique|EE.UU.|EEUU|EUA|Stati Uniti d’America|США|VS',
  VA: 'Holy See|Holy See (Vatican City State)|Vatican|Vatican City State',
  VE: 'Venezuela, Bolivarian Republic of|Venezuela (Bolivarian Republic of)',
  VN: 'Viet Nam|Socialist Republic of Vietnam',
  VG: 'British Virgin Islands|Virgin Islands, British|Virgin Islands (British)',
  VI: 'Virgin Islands, U.S.|Virgin Islands (U.S.)|US Virgin Islands',
};

/** Codes that are not in ISO 3166-1 and mean a country: the UK in the European Union and on the road, and Greece. */
const OTHER_CODES: ReadonlyMap<string, string> = new Map([
  ['UK', 'GB'],
  ['EL', 'GR'],
]);

/** Names count as written without accents, punctuation and articles. */
const plain = (name: string): string =>
  name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll('&', ' and ')
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .replace(/\bst\b/g, 'saint')
    .replace(/^(?:the|republic of) /, '')
    .trim();

function createNames(): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  const add = (name: string, code: string) => {
    const key = plain(name);
    if (!names.has(key)) names.set(key, code);
  };
  for (const [code, others] of Object.entries(OTHER_NAMES))
    for (const name of others.split('|')) add(name, code);
  for (const [alpha2 = '', alpha3 = '', number = ''] of triples) {
    add(alpha3, alpha2);
    add(number, alpha2);
  }
  for (const language of LANGUAGES) {
    const display = new Intl.DisplayNames(language, { type: 'region', fallback: 'none' });
    for (const code of countryCodes) {
      const name = display.of(code);
      if (name !== undefined) add(name, code);
    }
  }
  return names;
}

/** Takes a tenth of a second, so it is made when the first name is read. */
let names: ReadonlyMap<string, string> | undefined;
/** Longer texts are not names of countries. */
const MAX_NAME = 100;

/**
 * Reads a country that is written as a code of ISO 3166-1 or as a name, in any of many languages.
 * @returns its alpha-2 code; null if the text names no country
 */
export function readCountry(text: string): string | null {
  const code = text.length === 2 ? text.toUpperCase() : '';
  if (countryCodes.has(code)) return code;
  const other = OTHER_CODES.get(code);
  if (other !== undefined) return other;
  if (text.length > MAX_NAME) return null;
  names ??= createNames();
  const name = plain(text);
  return names.get(name) ?? readQualified(text);
}

/** Reads a name with its code, such as `Germany (DE)`, `DE - Germany` or a flag before the name. */
function readQualified(text: string): string | null {
  const parts = text
    .split(/[()[\]/|]|\s[-–—:]\s/)
    .map((part) => plain(part))
    .filter((part) => part !== '');
  const codes = new Set(
    parts.map((part) =>
      part.length === 2 && countryCodes.has(part.toUpperCase()) ? part.toUpperCase() : names?.get(part),
    ),
  );
  const [only] = codes;
  return codes.size === 1 && only !== undefined ? only : null;
}

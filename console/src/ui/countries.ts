/** Countries, by their codes in ISO 3166-1. */

const CODES = `
AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ CA CC
CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR GA GB GD
GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH
KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW
MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW SA SB SC
SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG UM US UY
UZ VA VC VE VG VI VN VU WF WS YE YT ZA ZM ZW`
  .trim()
  .split(/\s+/);

// The console is in English, and so are the names.
const names = new Intl.DisplayNames('en', { type: 'region', fallback: 'code' });
const CODE = /^[A-Za-z]{2}$/;

/** Returns the name of a country; a text that is no code stays as it is. */
export const countryName = (code: string): string => (CODE.test(code) ? (names.of(code) ?? code) : code);

/** Every country, by name. */
export const COUNTRIES: readonly { code: string; name: string }[] = CODES.map((code) => ({
  code,
  name: countryName(code),
})).sort((one, other) => one.name.localeCompare(other.name, 'en'));

/** Names count as typed without accents and punctuation. */
const plain = (text: string) =>
  text
    .normalize('NFD')
    .replace(/[^\p{L}\p{N} ]/gu, '')
    .replace(/\s+/g, ' ')
    .trim()
    .toLowerCase();

const byName = new Map(COUNTRIES.map(({ code, name }) => [plain(name), code]));

/** Returns the code of a country that is typed by name. */
export const codeOfName = (text: string): string | null => byName.get(plain(text)) ?? null;

/**
 * Returns the code of a country that is typed by name or by code; null if the text is neither. Other codes than those of
 * the list are allowed: the API takes them, and contacts may have them.
 */
export function codeOfCountry(text: string): string | null {
  const typed = text.trim();
  return CODE.test(typed) ? typed.toUpperCase() : codeOfName(typed);
}

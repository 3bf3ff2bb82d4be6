// Countries are read from codes and from names in many languages, and nothing else is taken for a country.
import { expect, it } from '@jest/globals';
import { readCountry } from '../../../../src/delivery/terms/addresses/countries.ts';
import { countryZones } from '../../../../src/delivery/terms/addresses/country-zones.ts';

it.each<[string, string]>([
  ['DE', 'de DEU deu 276 Germany Deutschland Allemagne Alemania Niemcy Германия 德国 ドイツ'],
  ['GB', 'UK uk U.K. GBR England Scotland Wales'],
  [
    'US',
    'usa U.S.A. 840 Vereinigte_Staaten United_States_of_America The_United_States EE.UU. США アメリカ合衆国',
  ],
  ['CI', "Ivory_Coast Cote_d'Ivoire Côte_d’Ivoire COTE_D'IVOIRE"],
  ['KR', 'South_Korea Korea,_Republic_of Republic_of_Korea 대한민국'],
  ['CZ', 'Czechia Czech_Republic Česko Česká_republika'],
  ['TR', 'Turkey Türkiye TURKIYE'],
  ['NA', 'NA Namibia'],
  ['XK', 'XK Kosovo'],
  ['BA', 'Bosnia_&_Herzegovina Bosnia_and_Herzegovina'],
  ['LC', 'St._Lucia Saint_Lucia'],
  ['CD', 'Congo,_Democratic_Republic_of_the Congo_-_Kinshasa DRC'],
  ['FR', 'France_(FR) FR_-_France 🇫🇷_France'],
])('reads %s from %s', (code, texts) => {
  const read = texts.split(' ').map((text) => [text, readCountry(text.replaceAll('_', ' '))]);
  expect(read.filter(([, found]) => found !== code)).toEqual([]);
});

it.each([
  'XX',
  'ZZ',
  'EU',
  'AN',
  '',
  'N/A',
  'Europe',
  'Germ',
  'Germany / France',
  '1',
  'constructor',
  'x'.repeat(200),
])('takes %j for no country', (text) => {
  expect(readCountry(text)).toBeNull();
});

it('knows every country that has a time zone, by its own code', () => {
  expect([...countryZones.keys()].filter((code) => readCountry(code) !== code)).toEqual([]);
});

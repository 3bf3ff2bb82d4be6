// The console reads the header of a CSV file as the import does, so that users map the columns that it finds.
import { describe, expect, it } from '@jest/globals';
import { columnsOf } from '../../console/src/pages/imports/csv-header.ts';

const namesOf = (text: string) => columnsOf(text).map(({ name }) => name);

describe('the columns of a CSV file', () => {
  it.each([',', ';', '\t', '|'])('are recognized: %j', (delimiter) => {
    expect(columnsOf(`email${delimiter}name\nada@example.com${delimiter}Ada\n`)).toEqual([
      { name: 'email', example: 'ada@example.com' },
      { name: 'name', example: 'Ada' },
    ]);
  });

  it.each(['\n', '\r\n', '\r'])('end at a line break %j', (lineBreak) => {
    expect(columnsOf(`a,b${lineBreak}1,2${lineBreak}3,4`)).toEqual([
      { name: 'a', example: '1' },
      { name: 'b', example: '2' },
    ]);
  });

  it('may be quoted, with delimiters, quotation marks and line breaks in them', () => {
    expect(namesOf('"last, first","the ""nick""","two\nlines"\n1,2,3')).toEqual([
      'last, first',
      'the "nick"',
      'two\nlines',
    ]);
  });

  it('are numbered if they have no name, and have no example if the row is short', () => {
    expect(columnsOf('email,,x\nada@example.com\n')).toEqual([
      { name: 'email', example: 'ada@example.com' },
      { name: 'column 2', example: '' },
      { name: 'x', example: '' },
    ]);
  });

  it('begin after blank lines, and are none in an empty file', () => {
    expect(namesOf('\r\n\na,b\n1,2')).toEqual(['a', 'b']);
    expect(namesOf('\n\n')).toEqual([]);
  });
});

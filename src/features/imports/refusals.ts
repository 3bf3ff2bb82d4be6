/** Why an import stops before its first row, by the columns of its file. */
import { type Column, hasAddressColumn, missingColumns } from './columns.ts';
import type { UnknownWords } from './consent/words-of-file.ts';
import type { ImportRecord } from './model.ts';
import { suppressionListOf } from './suppressions/reason.ts';

interface Refusal {
  code: string;
  message: string;
}

/** A suppression list of another service that is imported as contacts: all of its people would be subscribed. */
function refusedList({ resource, options }: ImportRecord, header: readonly string[]): Refusal | null {
  if (resource !== 'contacts' || options.status || Object.keys(options.mapping).length > 0) return null;
  const service = suppressionListOf(header);
  if (service === null) return null;
  return {
    code: 'suppression_list',
    message:
      `the file seems to be a suppression list of ${service}: import it with the resource suppressions, or say in ` +
      `options.status what all of its people are, or name the columns in options.mapping`,
  };
}

/**
 * @param header the names of the columns
 * @param columns how they are read
 * @param unknown the column about consent whose words are not understood
 */
export function refusalOf(
  row: ImportRecord,
  header: readonly string[],
  columns: readonly Column[],
  unknown: UnknownWords | null,
): Refusal | null {
  const [missing] = missingColumns(header, row.options.mapping);
  if (missing !== undefined) {
    return {
      code: 'unknown_column',
      message: `options.mapping names ${missing}, which is no column of the file`,
    };
  }
  const list = refusedList(row, header);
  if (list) return list;
  if (!hasAddressColumn(columns)) {
    const message = 'the file has no column of email addresses or phone numbers; name one in options.mapping';
    return { code: 'no_address_column', message };
  }
  return unknown && { code: 'unknown_consent_words', message: unknown.message };
}

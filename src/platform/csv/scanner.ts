import { MAX_BLOCK_BYTES, createCodeUnits, type CodeUnits } from './code-units.ts';
import { type CsvEncoding, leadByteOf } from './encodings.ts';

/** Maximum size of a record in bytes. */
export const MAX_RECORD_BYTES = 1024 * 1024;
export const MAX_COLUMNS = 2_000;
/** Number of characters to return of a line that could not be read. */
const MAX_SHOWN = 1_000;

/** Why a record could not be read. */
export type RecordProblem =
  'record_too_long' | 'unclosed_quote' | 'text_after_quote' | 'too_many_columns' | 'invalid_encoding';

/** Where reading continues. Stored as JSON. */
export interface CsvPosition {
  /** Bytes from the beginning of the file. */
  offset: number;
  /** The number of the record that begins there. */
  row: number;
  /** Quotes before this byte must be closed on their own line; see {@link CsvScanner}. */
  singleLineUntil: number;
}

export interface CsvRecord {
  /** The number that a spreadsheet shows: the first record, usually the header, is row 1. Blank records count, too. */
  row: number;
  /** Where the next record begins. */
  next: CsvPosition;
  /** Null if the record was read. */
  problem: RecordProblem | null;
  /** The values. If there is a problem, the beginning of the line, or the values with broken characters replaced. */
  fields: string[];
  /** If the problem is `invalid_encoding`: the indexes of the values with broken characters. */
  garbled?: number[];
}

export interface ScannerOptions {
  encoding: CsvEncoding;
  /** One ASCII character. */
  delimiter: string;
  from: CsvPosition;
  /** Whether only to count records. `fields` are then empty. */
  countOnly?: boolean;
}

const [LF, CR, QUOTE] = [10, 13, 34];
const [FIELD_START, UNQUOTED, QUOTED, AFTER_QUOTE, AFTER_CR, SKIPPING, SKIPPING_CR] = [0, 1, 2, 3, 4, 5, 6];

/** Whether a text may have been decoded from broken characters. A file may also contain U+FFFD as such. */
const seemsGarbled = (text: string) => text.includes('\uFFFD') || !text.isWellFormed();

/**
 * Reads CSV as in RFC 4180, with line breaks of LF, CR LF and CR, mixed in any way. A quote counts only at the
 * beginning of a value. If a record cannot be read, only the line on which it begins fails, and reading continues on
 * the next line. A quote that is never closed therefore does not swallow the rest of the file.
 *
 * The time is linear in the length of the file, whatever its content and however it is cut into blocks. After a failed
 * record, the lines that were searched for its closing quote are read once more. Quotes on these lines must be closed
 * on their own line; otherwise each line of a hostile file could cause a search up to the size limit of a record.
 */
export class CsvScanner {
  private readonly units: CodeUnits;
  private readonly size: 1 | 2;
  private readonly delimiter: number;
  /** Finds the first bytes of characters whose second byte looks like the delimiter; null if there are none. */
  private readonly isLead: ((byte: number) => boolean) | null;
  private readonly maxUnits: number;
  private readonly countOnly: boolean;
  private singleLineUntil: number;
  private row: number;
  private state = FIELD_START;
  /** Number of the next unit to read. */
  private position: number;
  private recordStart: number;
  /** Where the line after the first one of the record begins; -1 while that is not known. */
  private secondLine = -1;
  private quoteAt = 0;
  private fieldStart: number;
  private hasEscapes = false;
  private hasContent = false;
  private columns = 0;
  private starts: number[] = [];
  private ends: number[] = [];
  private escapes: boolean[] = [];
  /** A line that is being skipped, and why. */
  private skipped: Pick<CsvRecord, 'problem' | 'fields'> | null = null;
  private records: CsvRecord[] = [];

  constructor({ encoding, delimiter, from, countOnly = false }: ScannerOptions) {
    this.size = encoding.startsWith('utf-16') ? 2 : 1;
    this.delimiter = delimiter.charCodeAt(0);
    this.isLead = delimiter === '|' ? leadByteOf(encoding) : null;
    this.maxUnits = MAX_RECORD_BYTES / this.size;
    this.countOnly = countOnly;
    const start = from.offset / this.size;
    this.units = createCodeUnits(encoding, start);
    this.singleLineUntil = from.singleLineUntil / this.size;
    this.row = from.row;
    this.position = this.recordStart = this.fieldStart = start;
  }

  /** Adds bytes. @returns the complete records, without blank ones */
  push(block: Buffer): CsvRecord[] {
    for (let at = 0; at < block.length; at += MAX_BLOCK_BYTES) {
      this.units.append(
        block.subarray(at, at + MAX_BLOCK_BYTES),
        this.skipped ? this.position : this.recordStart,
      );
      this.run();
    }
    return this.taken();
  }

  /** Ends the file. @returns the remaining records */
  end(): CsvRecord[] {
    for (;;) {
      this.run();
      const { end } = this.units;
      if (this.state === AFTER_CR) this.endRecord(end);
      else if (this.state === SKIPPING || this.state === SKIPPING_CR) this.endSkipped(end);
      else if (this.state === QUOTED) this.fail('unclosed_quote', end);
      else if (this.recordStart === end) return this.taken();
      else {
        this.endField(this.state === AFTER_QUOTE ? end - 1 : end);
        this.endRecord(end);
      }
    }
  }

  /** Where the incomplete record begins. Reading from there returns the records after those already returned. */
  get place(): CsvPosition {
    const { recordStart, row, size } = this;
    const singleLineUntil = Math.max(recordStart, this.singleLineUntil) * size;
    return { offset: recordStart * size, row, singleLineUntil };
  }

  private taken(): CsvRecord[] {
    const { records } = this;
    this.records = [];
    return records;
  }

  private run(): void {
    const { end, data, first } = this.units;
    while (this.position < end) {
      const isTooLong = this.position - this.recordStart > this.maxUnits && this.state < AFTER_CR;
      if (isTooLong) this.fail('record_too_long', this.position);
      else if (this.state === UNQUOTED) this.readUnquoted(data, first, end);
      else if (this.state === QUOTED) this.readQuoted(data, first, end);
      else if (this.state === SKIPPING) this.skipLine(data, first, end);
      else if (this.position === this.recordStart && data[this.position - first] === LF)
        this.skipBlankLines(data, first, end);
      else this.step(data[this.position - first] as number);
    }
  }

  /** Skips empty lines at once: a file may have a billion of them. */
  private skipBlankLines(data: Uint8Array | Uint16Array, first: number, end: number): void {
    let at = this.position;
    while (at < end && data[at - first] === LF) at += 1;
    this.row += at - this.position;
    this.position = this.recordStart = this.fieldStart = at;
  }

  private step(unit: number): void {
    if (this.state === FIELD_START) {
      this.state = unit === QUOTE ? QUOTED : UNQUOTED;
      if (unit !== QUOTE) return;
      this.quoteAt = this.position;
      this.fieldStart = this.position += 1;
    } else if (this.state === AFTER_QUOTE) this.readAfterQuote(unit);
    else {
      const next = unit === LF ? this.position + 1 : this.position;
      if (this.state === AFTER_CR) this.endRecord(next);
      else this.endSkipped(next);
    }
  }

  /**
   * Reads an unquoted value to its end, to the size limit of the record, or to the end of the bytes received so far.
   */
  private readUnquoted(data: Uint8Array | Uint16Array, first: number, end: number): void {
    const limit = Math.min(end, this.recordStart + this.maxUnits + 1);
    const { delimiter, isLead } = this;
    let at = this.position;
    for (; at < limit; at += 1) {
      const unit = data[at - first] as number;
      if (isLead?.(unit)) at += 1;
      if (unit !== delimiter && unit !== LF && unit !== CR) continue;
      this.endValue(unit, at, at);
      return;
    }
    this.position = at;
  }

  /**
   * Reads a quoted value to its closing quote, to the size limit of the record, or to the end of the bytes received so
   * far.
   */
  private readQuoted(data: Uint8Array | Uint16Array, first: number, end: number): void {
    const limit = Math.min(end, this.recordStart + this.maxUnits + 1);
    const mustEnd = this.quoteAt < this.singleLineUntil;
    let at = this.position;
    for (; at < limit; at += 1) {
      const unit = data[at - first] as number;
      const endsCrLf = unit === LF && this.secondLine === at && data[at - 1 - first] === CR;
      if (endsCrLf) this.secondLine = at + 1;
      else if (mustEnd && this.secondLine >= 0) {
        this.fail('unclosed_quote', at);
        return;
      } else if (unit === QUOTE) {
        this.position = at + 1;
        this.state = AFTER_QUOTE;
        return;
      } else if ((unit === LF || unit === CR) && this.secondLine < 0) this.secondLine = at + 1;
    }
    this.position = at;
  }

  private readAfterQuote(unit: number): void {
    const closing = this.position - 1;
    if (unit === QUOTE) {
      this.hasEscapes = true;
      this.position += 1;
      this.state = QUOTED;
    } else if (unit === this.delimiter || unit === LF || unit === CR) {
      this.endValue(unit, closing, this.position);
    } else this.fail('text_after_quote', closing);
  }

  /** @param at the position of the delimiter or line break after the value */
  private endValue(unit: number, valueEnd: number, at: number): void {
    this.endField(valueEnd);
    this.position = this.fieldStart = at + 1;
    if (unit === this.delimiter) this.state = FIELD_START;
    else if (unit === LF) this.endRecord(at + 1);
    else this.state = AFTER_CR;
  }

  private endField(end: number): void {
    this.columns += 1;
    if (end > this.fieldStart) this.hasContent = true;
    if (!this.countOnly && this.columns <= MAX_COLUMNS) {
      this.starts.push(this.fieldStart);
      this.ends.push(end);
      this.escapes.push(this.hasEscapes);
    }
    this.hasEscapes = false;
  }

  private endRecord(next: number): void {
    if (this.hasContent) {
      const fields = this.starts.map((start, index) => {
        const text = this.units.text(start, this.ends[index] as number);
        return this.escapes[index] ? text.replaceAll('""', '"') : text;
      });
      if (this.columns > MAX_COLUMNS) this.emit(next, 'too_many_columns', this.firstLine(next));
      else this.emit(next, null, fields, fields.some(seemsGarbled) ? this.garbledFields(fields) : []);
    }
    this.beginRecord(next);
  }

  private beginRecord(at: number): void {
    this.row += 1;
    this.recordStart = this.position = this.fieldStart = at;
    this.state = FIELD_START;
    this.secondLine = -1;
    this.columns = 0;
    this.hasContent = this.hasEscapes = false;
    this.starts = [];
    this.ends = [];
    this.escapes = [];
  }

  private garbledFields(fields: readonly string[]): number[] {
    return fields.flatMap((text, index) => {
      if (!seemsGarbled(text)) return [];
      return this.units.isValid(this.starts[index] as number, this.ends[index] as number) ? [] : [index];
    });
  }

  private emit(next: number, problem: RecordProblem | null, fields: string[], garbled: number[] = []): void {
    const { row, size } = this;
    const singleLineUntil = Math.max(next, this.singleLineUntil) * size;
    const position = { offset: next * size, row: row + 1, singleLineUntil };
    if (garbled.length === 0) this.records.push({ row, problem, fields, next: position });
    else this.records.push({ row, problem: 'invalid_encoding', fields, garbled, next: position });
  }

  /** The beginning of the record's first line. */
  private firstLine(end: number): string[] {
    if (this.countOnly) return [];
    const text = this.units.text(this.recordStart, Math.min(end, this.recordStart + MAX_SHOWN));
    return [
      text
        .replace(/[\r\n].*$/s, '')
        .replaceAll('\uFFFD', '?')
        .toWellFormed(),
    ];
  }

  /** Fails the line on which the record begins. @param searched the position up to which the record was read */
  private fail(problem: RecordProblem, searched: number): void {
    const fields = this.firstLine(searched);
    if (this.secondLine < 0) {
      this.skipped = { problem, fields };
      this.state = SKIPPING;
      this.position = searched;
      return;
    }
    this.singleLineUntil = Math.max(this.singleLineUntil, searched);
    this.emit(this.secondLine, problem, fields);
    this.beginRecord(this.secondLine);
  }

  private skipLine(data: Uint8Array | Uint16Array, first: number, end: number): void {
    let at = this.position;
    for (; at < end; at += 1) {
      const unit = data[at - first] as number;
      if (unit !== LF && unit !== CR) continue;
      this.position = at + 1;
      if (unit === LF) this.endSkipped(at + 1);
      else this.state = SKIPPING_CR;
      return;
    }
    this.position = at;
  }

  private endSkipped(next: number): void {
    if (this.skipped) this.emit(next, this.skipped.problem, this.skipped.fields);
    this.skipped = null;
    this.beginRecord(next);
  }
}

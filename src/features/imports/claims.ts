import type { Queryable } from '../../platform/db/queryable.ts';
import type { FoundContact } from '../contacts/service.ts';
import type { RowProblem } from './cells.ts';
import type { ImportRow } from './rows.ts';

/** A row that is not imported, because an earlier row claimed one of its addresses. */
export interface BlockedRow {
  row: ImportRow;
  /** The address. */
  by: string;
  /** Why the row fails; null if it is only a duplicate. */
  problem: RowProblem | null;
}

const phoneConflict: RowProblem = {
  code: 'phone_conflict',
  message: 'an earlier row has the phone number with another email address',
  column: null,
};

/**
 * The address that decides whether a row is the first one or a duplicate. A checked row always has an email address or
 * a phone number.
 */
const leadOf = ({ email, phone }: ImportRow): string => email?.key ?? phone ?? '';

const keysOf = ({ email, phone }: ImportRow): string[] => [
  ...(email ? [email.key] : []),
  ...(phone === null ? [] : [phone]),
];

/** Whether two of the rows have an address in common. */
export function shareAddress(rows: readonly ImportRow[]): boolean {
  const keys = rows.flatMap(keysOf);
  return new Set(keys).size < keys.length;
}

/** Finds the addresses of the rows whose claims are stored. */
export async function storedClaims(
  trx: Queryable,
  importId: number,
  rows: readonly ImportRow[],
): Promise<string[]> {
  // Most imports store none.
  const { rowCount } = await trx.query('select 1 from import_addresses where import_id = $1 limit 1', [
    importId,
  ]);
  if (rowCount === 0) return [];
  const { rows: stored } = await trx.query<{ address_key: string }>(
    'select address_key from import_addresses where import_id = $1 and address_key = any($2)',
    [importId, rows.flatMap(keysOf)],
  );
  return stored.map((row) => row.address_key);
}

/**
 * The addresses that rows of a file have claimed, in earlier chunks and in this one. A contact that the import has
 * created represents the claims to its addresses. All other claims are in `import_addresses`.
 */
export class Claims {
  private readonly importId: number;
  private readonly earlier: ReadonlySet<string>;
  private readonly own = new Set<string>();
  /** The addresses of this chunk whose claims are represented by new contacts. */
  private readonly created = new Set<string>();

  private constructor(importId: number, earlier: ReadonlySet<string>) {
    this.importId = importId;
    this.earlier = earlier;
  }

  /**
   * @param rows of the chunk
   * @param found the contacts that have one of their addresses. Read them first: if one changes later, its claims are
   *   in `import_addresses`, which this reads.
   */
  static async read(
    trx: Queryable,
    importId: number,
    rows: readonly ImportRow[],
    found: readonly FoundContact[],
  ): Promise<Claims> {
    const stored = await storedClaims(trx, importId, rows);
    const created = found.filter((contact) => contact.import_id === importId);
    const keys = created.flatMap(({ email_key: email, phone }) =>
      [email, phone].filter((key) => key !== null),
    );
    return new Claims(importId, new Set([...keys, ...stored]));
  }

  /**
   * Lets the first row of each address claim its addresses. A row fails if its email address is new but an earlier row
   * has its phone number: counting it as a duplicate would silently drop its email address.
   */
  take(rows: readonly ImportRow[]): { first: ImportRow[]; blocked: BlockedRow[] } {
    const first: ImportRow[] = [];
    const blocked: BlockedRow[] = [];
    for (const row of rows) {
      const lead = leadOf(row);
      if (!this.isFree(lead)) blocked.push({ row, by: lead, problem: null });
      else if (row.phone !== null && !this.isFree(row.phone)) {
        blocked.push({ row, by: row.phone, problem: phoneConflict });
      } else {
        for (const key of keysOf(row)) this.own.add(key);
        first.push(row);
      }
    }
    return { first, blocked };
  }

  /** Releases the addresses of a row that has failed. A later row may claim them. */
  release(row: ImportRow): void {
    for (const key of keysOf(row)) this.own.delete(key);
  }

  /** Call it when a contact was created, which represents the claims of the row. */
  creates(row: ImportRow): void {
    for (const key of keysOf(row)) this.created.add(key);
  }

  isFree(key: string): boolean {
    return !this.earlier.has(key) && !this.own.has(key);
  }

  /** Stores the claims of this chunk that no contact represents. */
  async store(trx: Queryable): Promise<void> {
    const keys = [...this.own].filter((key) => !this.created.has(key));
    if (keys.length === 0) return;
    await trx.query(
      'insert into import_addresses (import_id, address_key) select $1, key from unnest($2::text[]) as k (key) order by key',
      [this.importId, keys],
    );
  }
}

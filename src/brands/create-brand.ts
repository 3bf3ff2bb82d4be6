import type { Queryable } from '../db/queryable.ts';

export interface NewBrand {
  accountId: number;
  companyName: string;
  /** `#` and six hexadecimal digits; a brand is complete with a colour and a name. */
  brandColor?: string;
  /** Campaigns need it in their footer. */
  physicalAddress?: string;
}

/** @returns the new brand's id */
export async function createBrand(db: Queryable, input: NewBrand): Promise<number> {
  const { rows } = await db.query<{ id: number }>(
    `insert into brands (account_id, company_name, brand_color, physical_address) values ($1, $2, $3, $4) returning id`,
    [input.accountId, input.companyName, input.brandColor ?? null, input.physicalAddress ?? null],
  );
  return (rows[0] as { id: number }).id;
}

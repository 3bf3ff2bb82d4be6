import type { Queryable } from '../db/queryable.ts';
import { markComplete } from './mark-complete.ts';
import { BrandModel } from './model.ts';

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
  const brand = await BrandModel.on(db)
    .insert({
      account_id: input.accountId,
      company_name: input.companyName,
      brand_color: input.brandColor,
      physical_address: input.physicalAddress,
    })
    .returning(BrandModel.columns)
    .execute();
  await markComplete(db, brand);
  return brand.id;
}

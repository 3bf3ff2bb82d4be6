/** How many segments a rendered SMS has, and what they cost. */
import { z } from 'zod';
import { highestSmsPriceSql, paysSql, smsPriceSql } from '../../delivery/ledger/money/prices.ts';
import { countSegments, wideCharacters } from '../../delivery/terms/texts/sms-segments.ts';
import { MILLICENTS_PER_CENT } from '../../delivery/ledger/money/wallet.ts';
import type { Queryable } from '../../platform/db/queryable.ts';

const MAX_WIDE_CHARACTERS = 20;

export const smsSizeSchema = z
  .object({
    encoding: z.enum(['gsm7', 'ucs2']).meta({
      description: '`ucs2` if a character is not in the GSM alphabet; a segment then has less room.',
    }),
    units: z.int().meta({
      description:
        'The length: at most 160 fit into one segment, or 70 in `ucs2`; 153 or 67 into each of several.',
    }),
    segments: z.int(),
    wide_characters: z.array(z.string()).meta({
      description: `The characters that are not in the GSM alphabet; at most ${MAX_WIDE_CHARACTERS} of them.`,
    }),
    reserved_segments: z.int().meta({
      description: 'What a campaign or flow reserves for each recipient: the most that the content may need.',
    }),
    segment_price_cents: z
      .number()
      .nullable()
      .meta({
        description:
          'The price of a segment in the country of the contact; without a contact, in the most expensive country. Null if ' +
          'the account has no price for that country, so no SMS are sent there.',
      }),
  })
  .meta({ id: 'SmsSize' });
export type SmsSize = z.input<typeof smsSizeSchema>;

/**
 * Reads the price of a segment in cents.
 * @param number in E.164 form; null: any number, so the price is that of the most expensive country
 * @returns null if the account cannot send to the country of the number, because it has no price
 */
async function readPrice(db: Queryable, accountId: number, number: string | null): Promise<number | null> {
  const { rows } = await db.query<{ millicents: number | null }>(
    `select case when a.comped or a.kind <> 'customer' then 0
         when $2::text is not null then ${smsPriceSql('a', '$2')}
         when ${paysSql('a')} then ${highestSmsPriceSql('a')} else 0 end as millicents
     from accounts a where a.id = $1`,
    [accountId, number],
  );
  const millicents = rows[0]?.millicents ?? null;
  return millicents === null ? null : millicents / MILLICENTS_PER_CENT;
}

/**
 * Measures a rendered text.
 * @param options.number of the recipient; null if there is none
 * @param options.reserved what its content may need
 */
export async function sizeOf(
  db: Queryable,
  accountId: number,
  text: string,
  { number, reserved }: { number: string | null; reserved: number },
): Promise<SmsSize> {
  return {
    ...countSegments(text),
    wide_characters: wideCharacters(text).slice(0, MAX_WIDE_CHARACTERS),
    reserved_segments: reserved,
    segment_price_cents: await readPrice(db, accountId, number),
  };
}

import { z } from 'zod';
import { pageQuery } from '../../platform/db/paging.ts';

export const walletEntryKinds = [
  'credit',
  'debit',
  'top_up',
  'validation',
  'refund',
  'usage',
  'dispute',
] as const;

/** Query parameters of `GET /v1/my/wallet/entries`. */
export const listWalletEntriesQuery = z.strictObject({
  ...pageQuery,
  kind: z.enum(walletEntryKinds).optional(),
});

export type ListWalletEntriesQuery = z.infer<typeof listWalletEntriesQuery>;

export const walletEntrySchema = z
  .object({
    id: z.int(),
    account_id: z.int(),
    kind: z.enum(walletEntryKinds).meta({
      description:
        '`usage`: the messages of a month, posted seven days after its end. `top_up`: a payment. `dispute`: a payment that the ' +
        'bank took back. `refund`: something that had been charged.',
    }),
    amount_cents: z.number().meta({
      description: 'Negative if the account paid. Exact, with up to three decimals.',
    }),
    reference: z
      .string()
      .nullable()
      .meta({ description: 'The reference of the operator or of the payment service.' }),
    month: z.iso.date().nullable().meta({ description: 'The first day of the month that the entry covers.' }),
    created_at: z.iso.datetime(),
  })
  .meta({
    id: 'WalletEntry',
    description: 'A change of the wallet’s balance. Entries never change.',
  });

export type WalletEntry = z.infer<typeof walletEntrySchema>;

import type { Schemas } from '../../api/client.ts';

export type RecipientKind = NonNullable<Schemas['MessageDetail']['recipients']>[number]['kind'];

/** How mail programs name where a recipient stands. */
export const kindText: Readonly<Record<RecipientKind, string>> = {
  to: 'To',
  cc: 'Copy (Cc)',
  bcc: 'Blind copy (Bcc)',
};

/** What comments say about prices, wallets and charges. */
export const moneyComments = `
comment on table prices is
  'what customers of a tier pay for an email above the monthly allowance, a segment of an SMS to a country, and a conclusive result of a validation. What has no row is free, but an SMS to a country without a price is refused if the tier has other prices of SMS';
comment on column prices.tier is 'as in accounts';
comment on column prices.kind is 'email, sms or validation';
comment on column prices.country is 'of an SMS: ISO 3166, two letters; else null';
comment on column prices.millicents is 'thousandths of a cent';

comment on table phone_prefixes is
  'the country of a phone number by its first digits; the longest prefix decides, see phone_country';
comment on column phone_prefixes.prefix is 'digits without +';
comment on column phone_prefixes.country is 'ISO 3166, two letters';

comment on table wallets is
  'the sum of the entries of an account, kept by a trigger of wallet_entries. The balance is less: messages of months that are not posted, and running validations, are subtracted when it is read';
comment on column wallets.entries_millicents is 'thousandths of a cent';

comment on table wallet_entries is
  'what was paid into a wallet and what was charged. Rows are never changed or removed';
comment on column wallet_entries.kind is
  'credit, debit (by an operator), top_up, validation, refund, usage (of a month), dispute';
comment on column wallet_entries.millicents is 'thousandths of a cent; negative: the account pays';
comment on column wallet_entries.reference is
  'for people: the operator''s reference, or the payment or dispute as the payment service names it; null: none';

comment on column topup_settings.amount_cents is 'how much is paid at once';
comment on column topup_settings.below_cents is 'a top-up is made when the balance is below';
comment on column topup_settings.payment_method is 'as the payment service names it';

comment on table topups is 'payments that fill wallets by themselves';
comment on column topups.amount_cents is 'how much is paid';
comment on column topups.currency is 'ISO 4217';
comment on column topups.customer is 'as in topup_settings, when it was made';
comment on column topups.payment_method is 'as in topup_settings, when it was made';
comment on column topups.status is 'pending, succeeded or failed';
comment on column topups.failure is
  'why it failed, or, while it is pending, why the last request brought no payment; null: neither';
comment on column topups.engine_expected_by is
  'if the workflow of the top-up has not ended by then, the reconciler checks that it runs; null: ended';

comment on table money_notices is
  'mails that owners have got: those of the spend cap for a month, no_funds until the account has funds again';
comment on column money_notices.notice is 'spend_cap_80 (80 percent of the cap is spent), spend_cap_100 or no_funds';
comment on column money_notices.month is 'of the spend cap; else null';

comment on table money_mismatches is
  'amounts that should be equal but were not at the last nightly check; nothing corrects them by itself';
comment on column money_mismatches.problem is
  'wallet_sum, month_posted, reserved or validation_reserved: what was compared';
comment on column money_mismatches.month is 'the month that it is about; null: none';
comment on column money_mismatches.expected is 'in thousandths of a cent';
comment on column money_mismatches.found is 'in thousandths of a cent';
comment on column money_mismatches.found_at is 'when the check ran';

comment on column unknown_charges.month is 'the month in which it was reserved, see price_month of send_queue';
comment on column unknown_charges.millicents is 'what is charged, in thousandths of a cent';
comment on column unknown_charges.units is 'the emails or segments that are charged';
`;

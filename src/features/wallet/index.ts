/**
 * The wallet of accounts: prices, entries, months, top-ups. The code that reads and reserves funds is in
 * `src/delivery/ledger/money`.
 */
export { book, type Booking, showWallet, type Wallet } from './bookings.ts';
export { listPrices, type Price, type PriceKey, priceKinds, setPrice } from './prices.ts';
export { createPaymentService } from './payments/services.ts';
export { createTopUpRun, type TopUpRun } from './top-up-run.ts';
export { setTopUps, type TopUpSettings } from './top-up-settings.ts';

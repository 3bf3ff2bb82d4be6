import type { ConsentChannel } from './known-headings.ts';
import { type ConsentUse, readConsentCell, strictest } from './read-word.ts';
import type { ConsentState } from './words.ts';

/** What a row says about the subscription of one channel. */
export interface ChannelConsent {
  /** Null: nothing, so that the options decide. */
  state: ConsentState | null;
  /** What suppresses the address, even if the row says more than that. */
  reported: 'bounced' | 'complained' | null;
  /** When the person opted out; null: unknown. */
  optedOutAt: Date | null;
  /** When the person opted in; null: unknown. */
  optedInAt: Date | null;
}

export type RowConsent = Record<'email' | 'phone', ChannelConsent>;

/** A cell that is not empty, of a column about subscriptions. */
export interface ConsentCell {
  use: ConsentUse;
  text: string;
  column: string;
}

const SILENT: ChannelConsent = { state: null, reported: null, optedOutAt: null, optedInAt: null };
/** What a row without columns about subscriptions says. */
export const silent: RowConsent = { email: SILENT, phone: SILENT };

/** A bounce or a complaint is about email, unless the column is about the phone alone. The phone is only left alone. */
const forChannel = (
  state: ConsentState | null,
  channel: 'email' | 'phone',
  of: ConsentChannel,
): ConsentState | null =>
  channel === 'phone' && of === 'all' && (state === 'bounced' || state === 'complained')
    ? 'never_subscribed'
    : state;

/** A time to come cannot be when something was said. */
const notAfter = (at: Date | null, now: number): Date | null => at && new Date(Math.min(at.getTime(), now));
/** Times before there was email are mistakes. */
const FIRST_YEAR = 1990;
const plausible = (at: Date | null): Date | null => (at && at.getUTCFullYear() >= FIRST_YEAR ? at : null);

/**
 * Reads what the cells of a row say about its subscriptions. If they contradict each other, the strictest counts.
 * @param whole what all people of the file are; null: the cells decide
 * @param timezone of times that name none; null: UTC
 * @returns the name of the first column that is not understood, or what the row says
 */
export function readConsent(
  cells: readonly ConsentCell[],
  whole: ConsentState | null,
  timezone: string | null = null,
): RowConsent | { unknown: ConsentCell } {
  if (cells.length === 0 && whole === null) return silent;
  const now = Date.now();
  const row: RowConsent = { email: { ...SILENT }, phone: { ...SILENT } };
  const says = (channel: 'email' | 'phone', state: ConsentState | null, of: ConsentChannel) => {
    const own = forChannel(state, channel, of);
    const consent = row[channel];
    consent.state = strictest(consent.state, own);
    if (own === 'complained' || (own === 'bounced' && consent.reported === null)) consent.reported = own;
  };
  for (const cell of cells) {
    const { channel: of, kind } = cell.use;
    const said = readConsentCell(cell.use, cell.text, timezone ?? 'UTC');
    if (!said) return { unknown: cell };
    const at = notAfter(plausible(said.at), now);
    for (const channel of of === 'all' ? (['email', 'phone'] as const) : [of]) {
      says(channel, said.state, of);
      const consent = row[channel];
      if (kind === 'opted_in_at' || said.state === 'subscribed') consent.optedInAt ??= at;
      else consent.optedOutAt ??= at;
    }
  }
  for (const channel of ['email', 'phone'] as const) says(channel, whole, 'all');
  return row;
}

/** Whether a new channel is subscribed; null: the options decide. */
export const subscribes = ({ state }: ChannelConsent): boolean | null =>
  state === null ? null : state === 'subscribed';

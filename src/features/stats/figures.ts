import { type StatName, statTimes } from '../../delivery/ledger/effects/stat-changes.ts';
import { channels } from '../../delivery/terms/message.ts';

/** What happens to messages. Each counts once for a message. */
export const figureNames = Object.keys(statTimes) as StatName[];

export type Figures = Record<StatName, number>;

/** What sends messages: campaigns, flows, and clients of the API. */
export const statSources = ['campaign', 'flow', 'api'] as const;

export const statChannels = channels;

export function noFigures(): Figures {
  return { sent: 0, delivered: 0, bounced: 0, complained: 0, opened: 0, clicked: 0, unsubscribed: 0 };
}

export function addFigures(figures: Figures, more: Figures): void {
  for (const name of figureNames) figures[name] += more[name];
}

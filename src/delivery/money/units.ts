/** What is paid for: each message of some channels, each segment of the others. */
import { byChannelSql, type Channel, channelFacts, isChannelSql } from '../channels/index.ts';

/** SQL: whether each message of the channel has one price. @param channel SQL: a column or parameter */
export const paidByMessageSql = (channel: string): string =>
  isChannelSql(channel, ({ unit }) => unit === 'message');

/** SQL: whether each segment of a message has a price of its own. @param channel SQL: a column or parameter */
export const paidBySegmentSql = (channel: string): string =>
  isChannelSql(channel, ({ unit }) => unit === 'segment');

/** SQL: the value for what is paid for. @param channel SQL: a column or parameter */
export const byUnitSql = (
  channel: string,
  values: { message: string | null; segment: string | null },
): string => byChannelSql(channel, ({ unit }) => values[unit]);

export const isPaidByMessage = (channel: Channel): boolean => channelFacts[channel].unit === 'message';

export const isPaidBySegment = (channel: Channel): boolean => channelFacts[channel].unit === 'segment';

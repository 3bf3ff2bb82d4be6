/** The unit that has a price: the message in some channels, the segment in others. */
import { byChannelSql, type Channel, channelFacts, isChannelSql } from './channels/index.ts';

/** SQL: whether the channel is priced by message. @param channel SQL: a column or parameter */
export const paidByMessageSql = (channel: string): string =>
  isChannelSql(channel, ({ unit }) => unit === 'message');

/** SQL: whether the channel is priced by segment. @param channel SQL: a column or parameter */
export const paidBySegmentSql = (channel: string): string =>
  isChannelSql(channel, ({ unit }) => unit === 'segment');

/** SQL: the value for the unit of the channel. @param channel SQL: a column or parameter */
export const byUnitSql = (
  channel: string,
  values: { message: string | null; segment: string | null },
): string => byChannelSql(channel, ({ unit }) => values[unit]);

export const isPaidByMessage = (channel: Channel): boolean => channelFacts[channel].unit === 'message';

export const isPaidBySegment = (channel: Channel): boolean => channelFacts[channel].unit === 'segment';

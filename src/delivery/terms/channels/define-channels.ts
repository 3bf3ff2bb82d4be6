import type { ChannelFacts } from './channel.ts';

/** Channels by name, and the SQL that differs by channel. */
export interface Channels<Name extends string> {
  readonly names: [Name, ...Name[]];
  readonly facts: Readonly<Record<Name, ChannelFacts>>;
  /**
   * SQL: the value for the channel of a row, a `case` over all channels.
   * @param channel SQL: a column or parameter
   * @param value SQL for one channel; null: no value
   * @param before what precedes each branch, such as a newline if the values are long
   */
  readonly byChannelSql: (
    channel: string,
    value: (facts: ChannelFacts) => string | null,
    before?: string,
  ) => string;
  /**
   * SQL: whether the channel of a row is one for which `fits` returns true.
   * @param channel SQL: a column or parameter
   */
  readonly isChannelSql: (channel: string, fits: (facts: ChannelFacts) => boolean) => string;
}

/**
 * Creates the channels from their table. Only code about one channel names it. Shared code asks the table for the
 * differences, so that its SQL for a new channel follows from the new line in the table.
 */
export function defineChannels<Name extends string>(
  facts: Readonly<Record<Name, ChannelFacts>>,
): Channels<Name> {
  const names = Object.keys(facts) as [Name, ...Name[]];
  return {
    names,
    facts,
    byChannelSql(channel, value, before = ' ') {
      const values = names.map((name) => ({ name, sql: value(facts[name]) }));
      const given = values.filter(({ sql }) => sql !== null);
      // If every channel has a value, the last one needs no comparison.
      const last = given.length === names.length ? given.pop() : undefined;
      const cases = given.map(({ name, sql }) => `${before}when '${name}' then ${sql}`);
      return `case ${channel}${cases.join('')}${last ? `${before}else ${last.sql}` : ''} end`;
    },
    isChannelSql(channel, fits) {
      const fitting = names.filter((name) => fits(facts[name])).map((name) => `'${name}'`);
      if (fitting.length === 0) return 'false';
      return fitting.length === 1 ? `${channel} = ${fitting[0]}` : `${channel} in (${fitting.join(', ')})`;
    },
  };
}

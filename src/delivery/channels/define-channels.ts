import type { ChannelFacts } from './channel.ts';

/** Channels by name, and the SQL that differs by channel. */
export interface Channels<Name extends string> {
  readonly names: [Name, ...Name[]];
  readonly facts: Readonly<Record<Name, ChannelFacts>>;
  /**
   * SQL: the value for the channel of a row, a `case` over all channels.
   * @param channel SQL: a column or parameter
   * @param value SQL for one channel; null: no value
   * @param before what precedes each branch: a newline where the values are long
   */
  readonly byChannelSql: (
    channel: string,
    value: (facts: ChannelFacts) => string | null,
    before?: string,
  ) => string;
  /**
   * SQL: whether the channel of a row is one of those that fit.
   * @param channel SQL: a column or parameter
   */
  readonly isChannelSql: (channel: string, fits: (facts: ChannelFacts) => boolean) => string;
}

/**
 * Makes the channels from their table. Code names a channel only where it is about that channel; where it serves all of
 * them, it asks for what differs, so that the statement of another channel follows from its line in the table.
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
      // With a value for each channel, the last one needs no comparison.
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

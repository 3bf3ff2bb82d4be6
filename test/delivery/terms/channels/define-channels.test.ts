// SQL that differs by channel is written from the table of channels.
import { describe, expect, it } from '@jest/globals';
import type { ChannelFacts } from '../../../../src/delivery/terms/channels/channel.ts';
import { byChannelSql, channels, isChannelSql } from '../../../../src/delivery/terms/channels/index.ts';

const keyOf = ({ contact }: ChannelFacts) => `c.${contact.key}`;
const isPaidByMessage = ({ unit }: ChannelFacts) => unit === 'message';

describe('the value for the channel of a row', () => {
  it('is a case whose last channel needs no comparison', () => {
    expect(byChannelSql('$6', keyOf)).toBe("case $6 when 'email' then c.email_key else c.phone end");
  });

  it('leaves out a channel that has none', () => {
    const replyTo = ({ account }: ChannelFacts) => account.replyTo && `a.${account.replyTo}`;
    expect(byChannelSql('i.channel', replyTo)).toBe("case i.channel when 'email' then a.email_reply_to end");
  });
});

describe('whether the channel of a row fits', () => {
  it('is a comparison if one channel fits', () => {
    expect(isChannelSql('q.channel', isPaidByMessage)).toBe("q.channel = 'email'");
  });

  it('is false if no channel fits', () => {
    expect(isChannelSql('q.channel', () => false)).toBe('false');
  });
});

it('names the channels in the order of the API', () => {
  expect(channels).toEqual(['email', 'sms']);
});

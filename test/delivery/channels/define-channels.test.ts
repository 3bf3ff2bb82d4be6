// SQL that differs by channel is written from the table of channels, and another channel follows from its line in it.
import { describe, expect, it } from '@jest/globals';
import type { ChannelFacts } from '../../../src/delivery/channels/channel.ts';
import { defineChannels } from '../../../src/delivery/channels/define-channels.ts';
import { byChannelSql, channelFacts, channels, isChannelSql } from '../../../src/delivery/channels/index.ts';

/** A channel that Carillon does not have. */
const pager: ChannelFacts = {
  setting: 'SMS_PROVIDER_URL',
  required: null,
  address: { key: (text) => (/^\d{6}$/.test(text) ? text : null), hasTags: false },
  contact: { kind: 'phone', key: 'pager' },
  account: { providers: 'pager_provider_ids', replyTo: null },
  unit: 'message',
  hasRates: false,
  isTracked: false,
};
const three = defineChannels({ ...channelFacts, pager });

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

  it('covers a new channel by its line in the table', () => {
    expect(three.byChannelSql('$6', keyOf)).toBe(
      "case $6 when 'email' then c.email_key when 'sms' then c.phone else c.pager end",
    );
  });
});

describe('whether the channel of a row fits', () => {
  it('is a comparison if one channel fits', () => {
    expect(isChannelSql('q.channel', isPaidByMessage)).toBe("q.channel = 'email'");
  });

  it('is a list if several channels fit', () => {
    expect(three.isChannelSql('q.channel', isPaidByMessage)).toBe("q.channel in ('email', 'pager')");
  });

  it('is false if no channel fits', () => {
    expect(isChannelSql('q.channel', () => false)).toBe('false');
  });
});

it('names the channels in the order of the API', () => {
  expect(channels).toEqual(['email', 'sms']);
  expect(three.names).toEqual(['email', 'sms', 'pager']);
});

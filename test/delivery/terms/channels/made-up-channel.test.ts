// A made-up third channel follows from its line in the table of channels, and hands over with what all channels share.
import { describe, expect, it } from '@jest/globals';
import type { ChannelFacts } from '../../../../src/delivery/terms/channels/channel.ts';
import { defineChannels } from '../../../../src/delivery/terms/channels/define-channels.ts';
import { channelFacts } from '../../../../src/delivery/terms/channels/index.ts';
import type { HandOverOutcome } from '../../../../src/delivery/terms/hand-over-outcome.ts';
import type { BatchMessage } from '../../../../src/delivery/ledger/intend/batch.ts';
import {
  defaultShare,
  giveComposed,
  type ProviderChannel,
} from '../../../../src/delivery/sender/compose/provider-channel.ts';

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

interface Page {
  to: string;
  digits: string;
}

interface PagerProvider {
  readonly name: string;
  handOver(batch: readonly Page[]): Promise<HandOverOutcome[]>;
}

/** As `channels/sms/hand-over.ts` does it. */
const createPagerChannel = (
  provider: PagerProvider,
): Omit<ProviderChannel, 'channel'> & { channel: string } => ({
  channel: 'pager',
  ...defaultShare(provider),
  concurrency: 1,
  handOver(batch) {
    const composed = batch.map(({ to, text }) =>
      text !== null && /^\d+$/.test(text) ? { to, digits: text } : new Error('the text is not digits'),
    );
    return giveComposed(batch, composed, (pages) => provider.handOver(pages));
  },
  close: () => Promise.resolve(),
});

const messageTo = (to: string, text: string) => ({ to, text, attempt: 1 }) as unknown as BatchMessage;

describe('its line in the table', () => {
  it('adds its name after those of the others', () => {
    expect(three.names).toEqual(['email', 'sms', 'pager']);
  });

  it('adds its columns to SQL over contacts and accounts', () => {
    expect(three.byChannelSql('$6', ({ contact }) => `c.${contact.key}`)).toBe(
      "case $6 when 'email' then c.email_key when 'sms' then c.phone else c.pager end",
    );
    expect(three.byChannelSql('i.channel', ({ account }) => `a.${account.providers}`)).toBe(
      "case i.channel when 'email' then a.email_provider_ids when 'sms' then a.sms_provider_ids else a.pager_provider_ids end",
    );
  });

  it('gives it the price of its unit', () => {
    const price = ({ unit }: ChannelFacts) => (unit === 'message' ? 'a.price' : 'a.prices');
    expect(three.byChannelSql('b.channel', price)).toBe(
      "case b.channel when 'email' then a.price when 'sms' then a.prices else a.price end",
    );
    expect(three.isChannelSql('q.channel', ({ unit }) => unit === 'message')).toBe(
      "q.channel in ('email', 'pager')",
    );
  });

  it('leaves it out of rates and engagement that it does not have', () => {
    expect(three.isChannelSql('m.channel', ({ hasRates }) => hasRates)).toBe("m.channel = 'email'");
    expect(three.isChannelSql('m.channel', ({ isTracked }) => isTracked)).toBe("m.channel = 'email'");
  });
});

describe('its hand-over', () => {
  const given: Page[] = [];
  const provider: PagerProvider = {
    name: 'tower',
    handOver(batch) {
      given.push(...batch);
      return Promise.resolve(
        batch.map(({ to }): HandOverOutcome => ({
          kind: 'accepted',
          providerMessageId: to,
          response: '',
          delivered: false,
        })),
      );
    },
  };

  it('gives the provider what could be composed, and returns outcomes in the order of the batch', async () => {
    const channel = createPagerChannel(provider);
    const outcomes = await channel.handOver([messageTo('111111', 'hi'), messageTo('222222', '911')]);
    expect(given).toEqual([{ to: '222222', digits: '911' }]);
    expect(outcomes).toMatchObject([
      { kind: 'not_composed', final: true, response: 'the text is not digits' },
      { kind: 'accepted', providerMessageId: '222222' },
    ]);
  });

  it('has the share of the provider of the settings', () => {
    expect(createPagerChannel(provider)).toMatchObject({
      providerId: 0,
      provider: 'tower',
      reportSeconds: 0,
    });
  });
});

import { defineChannels } from './define-channels.ts';
import { email } from './email.ts';
import { sms } from './sms.ts';

/** Every channel. A new one is a file beside this one and a line here; `docs/adding-a-channel.md` lists the rest. */
const table = defineChannels({ email, sms });

export const channels = table.names;

export type Channel = (typeof channels)[number];

export const channelFacts = table.facts;

export const { byChannelSql, isChannelSql } = table;

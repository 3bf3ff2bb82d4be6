/** The size of the crash tests: full if CRASH_FULL is set, otherwise a tenth with one seed. */
interface Scale {
  messages: number;
  /** Number of events published to subscribers. */
  events: number;
  seeds: number[];
  /** Number of messages for each of two named providers, and whether to wait for two minutes without a callback. */
  providers: { messages: number; waits: boolean };
  engineDownMs: number;
  /** Number of database backends killed in place, one after another, while messages are sent. */
  backends: { messages: number; kills: number; everyMs: number };
  /** Number of messages sent during a failover, and how long no database responds. */
  failOver: { messages: number; downMs: number };
  /** Number of imports, one after another, and of kills of the worker and the database during each. */
  imports: { rows: number; kills: number; runs: number };
  /** Number of contacts of each bulk action, and of kills of the worker and the database during each. */
  bulkActions: { contacts: number; kills: number };
  /** Number of mails to an inbox, and of kills of the mail role, the worker and the database while they arrive. */
  inbound: { mails: number; kills: number };
  /** Number of recipients of a campaign, and of kills while it is sent. */
  campaigns: { recipients: number; kills: number };
  /** Number of candidates of a validation, and of kills of the worker and the database during it. */
  validation: { candidates: number; kills: number };
  /** Number of contacts in a flow, of kills during it, and whether to wait for the minute before a repeated request. */
  flows: { runs: number; kills: number; waits: boolean };
  /**
   * Number of contacts of a flow with cohorts, in how many parts they enter, number of kills meanwhile, and how long some
   * contacts are in their quiet hours, at least.
   */
  cohorts: { runs: number; parts: number; kills: number; quietMs: number };
  /** How long the relay takes for each reply, in ms, and how often a sender is asked to stop meanwhile. */
  deploys: { relaysMs: number[]; stops: number };
  /** How long two versions run together at least, and how often one of their processes is restarted. */
  versions: { seconds: number; restartMs: number };
  /** Number of messages and of campaign recipients that an account pays for, and of kills during it. */
  money: { messages: number; recipients: number; kills: number };
  /** Number of letters and other messages, with files and without, and of kills while they are sent. */
  files: { letters: number; kills: number };
  /** Number of messages by the API, in batches and by SMTP, and of kills while they are accepted and sent. */
  submission: { messages: number; kills: number };
  /** Number of random facts about messages, of messages of the API and of campaigns each, and of kills meanwhile. */
  stats: { facts: number; messages: number; kills: number };
  /** Number of messages of 9 MB at once, and of the accounts that send them. */
  largeBodies: { requests: number; accounts: number };
  /**
   * Carillon promises that stranded work continues within 15 s of the restart. Only the full tests check this, because
   * they have the machine to themselves. A busy machine must not fail `npm test`.
   */
  strandedLimitSeconds: number;
}

const full = process.env.CRASH_FULL === '1';
const shortKills = { messages: 1_500, kills: 12, everyMs: 1_200 };
const fullKills = { messages: 6_000, kills: 14, everyMs: 4_300 };

export const scale: Scale = full
  ? {
      messages: 2_000,
      events: 5_000,
      seeds: [1, 2, 3],
      providers: { messages: 600, waits: true },
      engineDownMs: 60_000,
      backends: fullKills,
      failOver: { messages: 6_000, downMs: 20_000 },
      largeBodies: { requests: 200, accounts: 16 },
      imports: { rows: 500_000, kills: 12, runs: 5 },
      bulkActions: { contacts: 50_000, kills: 8 },
      inbound: { mails: 5_000, kills: 12 },
      campaigns: { recipients: 20_000, kills: 15 },
      validation: { candidates: 20_000, kills: 5 },
      flows: { runs: 2_000, kills: 16, waits: true },
      cohorts: { runs: 20_000, parts: 40, kills: 40, quietMs: 120_000 },
      deploys: { relaysMs: [1_000, 20_000, 50_000], stops: 20 },
      versions: { seconds: 600, restartMs: 10_000 },
      money: { messages: 1_500, recipients: 5_000, kills: 20 },
      files: { letters: 3_000, kills: 20 },
      submission: { messages: 5_000, kills: 24 },
      stats: { facts: 100_000, messages: 15_000, kills: 30 },
      strandedLimitSeconds: 15,
    }
  : {
      messages: 200,
      events: 500,
      seeds: [1],
      providers: { messages: 60, waits: false },
      engineDownMs: 8_000,
      backends: shortKills,
      failOver: { messages: 1_000, downMs: 7_000 },
      largeBodies: { requests: 48, accounts: 8 },
      imports: { rows: 20_000, kills: 2, runs: 1 },
      bulkActions: { contacts: 2_000, kills: 2 },
      inbound: { mails: 800, kills: 4 },
      campaigns: { recipients: 5_000, kills: 5 },
      validation: { candidates: 3_000, kills: 2 },
      flows: { runs: 150, kills: 6, waits: false },
      cohorts: { runs: 300, parts: 10, kills: 6, quietMs: 12_000 },
      deploys: { relaysMs: [2_000], stops: 4 },
      versions: { seconds: 0, restartMs: 500 },
      money: { messages: 150, recipients: 600, kills: 5 },
      files: { letters: 150, kills: 5 },
      submission: { messages: 300, kills: 5 },
      stats: { facts: 6_000, messages: 1_000, kills: 4 },
      strandedLimitSeconds: Infinity,
    };

import { Command } from 'commander';
import { benchCallbacks, type CallbacksBenchOptions } from './callbacks.ts';
import { benchCampaign, type CampaignBenchOptions } from './campaign.ts';
import { benchCompose, type ComposeBenchOptions } from './compose.ts';
import { benchContacts, type ContactsBenchOptions } from './contacts.ts';
import { benchEvents, type EventsBenchOptions } from './events.ts';
import { benchFairness, type FairnessBenchOptions } from './fairness.ts';
import { describeMachine } from './machine.ts';
import { benchImports, type ImportsBenchOptions } from './imports.ts';
import { benchLive, type LiveBenchOptions } from './live.ts';
import { benchProviders, type ProvidersBenchOptions } from './providers.ts';
import { benchReports, type ReportsBenchOptions } from './reports.ts';
import { benchMessages, type MessagesBenchOptions } from './messages.ts';
import { benchSegments, type SegmentsBenchOptions } from './segments.ts';
import { benchSize, type SizeBenchOptions } from './size.ts';
import { benchTracking, type TrackingBenchOptions } from './tracking.ts';
import { benchWebhooks, type WebhooksBenchOptions } from './webhooks.ts';

const program = new Command('npm run bench --').description(
  'Benchmarks. Each prints one JSON document with the machine and commit, every run, and the medians.',
);

program
  .command('messages')
  .description('accepted requests/s, backlog drained/s and end-to-end latency of POST /messages')
  .option('--runs <n>', 'number of runs; the medians are over all runs', Number, 3)
  .option('--seconds <n>', 'seconds of load in each run', Number, 8)
  .option('--backlog <n>', 'queued messages to drain', Number, 50_000)
  .option('--latency-seconds <n>', 'seconds at 20 requests/s', Number, 15)
  .option('--links <n>', 'tracked links in each drained message', Number, 0)
  .action(async (options: MessagesBenchOptions) => {
    const machine = describeMachine();
    const result = await benchMessages(options);
    process.stdout.write(`${JSON.stringify({ bench: 'messages', machine, options, ...result }, null, 2)}\n`);
  });

program
  .command('campaign')
  .description('a campaign from POST send to completed, with the processor time and memory of each process')
  .option('--runs <n>', 'number of runs; the medians are over all runs', Number, 3)
  .option('--recipients <n>', 'contacts of the list', Number, 100_000)
  .option('--senders <n>', 'sender processes', Number, 1)
  .option('--links <n>', 'tracked links in the body of 5 KB', Number, 5)
  .option('--dkim', 'sign with RSA and Ed25519', false)
  .action(async (options: CampaignBenchOptions) => {
    const machine = describeMachine();
    const result = await benchCampaign(options);
    process.stdout.write(`${JSON.stringify({ bench: 'campaign', machine, options, ...result }, null, 2)}\n`);
  });

program
  .command('compose')
  .description('processor time to render and compose a message of a campaign, with a skeleton and as a whole')
  .option('--runs <n>', 'number of runs; the medians are over all runs', Number, 5)
  .option('--messages <n>', 'messages of each measurement', Number, 20_000)
  .option('--links <n>', 'tracked links in the body of 5 KB', Number, 5)
  .action(async (options: ComposeBenchOptions) => {
    const machine = describeMachine();
    const result = await benchCompose(options);
    process.stdout.write(`${JSON.stringify({ bench: 'compose', machine, options, ...result }, null, 2)}\n`);
  });

program
  .command('webhooks')
  .description(
    'webhook deliveries/s over HTTPS, latency, and the cost of dead endpoints for the others and the engine',
  )
  .option('--runs <n>', 'number of runs; the medians are over all runs', Number, 3)
  .option('--deliveries <n>', 'webhook deliveries per measured part', Number, 60_000)
  .option('--endpoints <n>', 'endpoints in the part with many endpoints', Number, 1_000)
  .option('--dead <n>', 'number of those that never respond', Number, 100)
  .option('--latency-seconds <n>', 'seconds at 20 events/s', Number, 15)
  .action(async (options: WebhooksBenchOptions) => {
    const machine = describeMachine();
    const result = await benchWebhooks(options);
    process.stdout.write(`${JSON.stringify({ bench: 'webhooks', machine, options, ...result }, null, 2)}\n`);
  });

program
  .command('contacts')
  .description('new contacts/s by POST /contacts, each committed, into a brand with many contacts')
  .option('--runs <n>', 'number of runs; the medians are over all runs', Number, 3)
  .option('--seconds <n>', 'seconds of load in each run', Number, 15)
  .option('--contacts <n>', 'contacts that the brand has before', Number, 1_000_000)
  .option('--connections <n>', 'keep-alive connections', Number, 32)
  .action(async (options: ContactsBenchOptions) => {
    const machine = describeMachine();
    const result = await benchContacts(options);
    process.stdout.write(`${JSON.stringify({ bench: 'contacts', machine, options, ...result }, null, 2)}\n`);
  });

program
  .command('events')
  .description(
    'tracked events/s, single and in batches, each with a key and committed, into a brand with many events',
  )
  .option('--runs <n>', 'number of runs; the medians are over all runs', Number, 3)
  .option('--seconds <n>', 'seconds of each measurement', Number, 15)
  .option('--events <n>', 'events that the brand has before', Number, 10_000_000)
  .option('--contacts <n>', 'contacts of the brand', Number, 1_000_000)
  .option('--batch <n>', 'events of each batch, at most 500', Number, 500)
  .action(async (options: EventsBenchOptions) => {
    const machine = describeMachine();
    const result = await benchEvents(options);
    process.stdout.write(`${JSON.stringify({ bench: 'events', machine, options, ...result }, null, 2)}\n`);
  });

program
  .command('imports')
  .description('rows/s of a CSV import into an empty and into a full brand, and the memory of the worker')
  .option('--runs <n>', 'number of runs; the medians are over all runs', Number, 3)
  .option('--rows <n>', 'rows of the file, each with six columns', Number, 1_000_000)
  .option('--contacts <n>', 'contacts of the full brand; half of the rows are among them', Number, 1_000_000)
  .action(async (options: ImportsBenchOptions) => {
    const machine = describeMachine();
    const result = await benchImports(options);
    process.stdout.write(`${JSON.stringify({ bench: 'imports', machine, options, ...result }, null, 2)}\n`);
  });

program
  .command('callbacks')
  .description('reports/s that providers send to the callback routes, one and a hundred in each request')
  .option('--runs <n>', 'number of runs; the medians are over all runs', Number, 3)
  .option('--facts <n>', 'reports of each measurement', Number, 30_000)
  .action(async (options: CallbacksBenchOptions) => {
    const machine = describeMachine();
    const result = await benchCallbacks(options);
    process.stdout.write(`${JSON.stringify({ bench: 'callbacks', machine, options, ...result }, null, 2)}\n`);
  });

program
  .command('reports')
  .description('bounces/s that are mailed to the mail role, each accepted once it is committed')
  .option('--runs <n>', 'number of runs; the medians are over all runs', Number, 3)
  .option('--reports <n>', 'reports in each run', Number, 5_000)
  .option('--connections <n>', 'connections of the reporting servers, at most 20', Number, 16)
  .action(async (options: ReportsBenchOptions) => {
    const machine = describeMachine();
    const result = await benchReports(options);
    process.stdout.write(`${JSON.stringify({ bench: 'reports', machine, options, ...result }, null, 2)}\n`);
  });

program
  .command('providers')
  .description('messages/s through one provider, alone and beside another that refuses connections or hangs')
  .option('--runs <n>', 'number of runs; the medians are over all runs', Number, 3)
  .option('--backlog <n>', 'queued messages of the provider that works', Number, 30_000)
  .option('--stuck <n>', 'queued messages of the provider that fails', Number, 5_000)
  .action(async (options: ProvidersBenchOptions) => {
    const machine = describeMachine();
    const result = await benchProviders(options);
    process.stdout.write(`${JSON.stringify({ bench: 'providers', machine, options, ...result }, null, 2)}\n`);
  });

program
  .command('live')
  .description(
    'API and sender at once: messages/s from POST to the SMTP server and a webhook, and latency at a rate',
  )
  .option('--runs <n>', 'runs, whose medians are printed', Number, 3)
  .option('--seconds <n>', 'seconds of each measurement', Number, 15)
  .option('--rate <n>', 'requests a second of the steady measurement', Number, 500)
  .action(async (options: LiveBenchOptions) => {
    const machine = describeMachine();
    const result = await benchLive(options);
    process.stdout.write(`${JSON.stringify({ bench: 'live', machine, options, ...result }, null, 2)}\n`);
  });

program
  .command('tracking')
  .description('clicks/s and opens/s of tracked mail, every hit kept, and the latency of redirects at 200/s')
  .option('--runs <n>', 'number of runs; the medians are over all runs', Number, 3)
  .option('--seconds <n>', 'seconds of each measurement', Number, 10)
  .option('--messages <n>', 'messages whose links are followed', Number, 20_000)
  .action(async (options: TrackingBenchOptions) => {
    const machine = describeMachine();
    const result = await benchTracking(options);
    process.stdout.write(`${JSON.stringify({ bench: 'tracking', machine, options, ...result }, null, 2)}\n`);
  });

program
  .command('fairness')
  .description('latency of a small account beside the backlog of a large one, with a slow relay')
  .option('--runs <n>', 'number of runs; the medians are over all runs', Number, 3)
  .option('--seconds <n>', 'seconds in which the small account posts', Number, 20)
  .option('--backlog <n>', 'queued messages of the large account', Number, 12_000)
  .option('--rate <n>', 'requests a second of the small account', Number, 5)
  .option('--message-ms <n>', 'milliseconds that the relay takes for a message', Number, 50)
  .option('--connections <n>', 'connections of the sender', Number, 16)
  .action(async (options: FairnessBenchOptions) => {
    const machine = describeMachine();
    const result = await benchFairness(options);
    process.stdout.write(`${JSON.stringify({ bench: 'fairness', machine, options, ...result }, null, 2)}\n`);
  });

program
  .command('segments')
  .description(
    'latency of previews of ten segments while events arrive, just after a start of PostgreSQL and later',
  )
  .option('--contacts <n>', 'contacts of the brand', Number, 1_000_000)
  .option('--events <n>', 'their tracked events in the last year, with twenty names', Number, 10_000_000)
  .option('--engagement <n>', 'mails sent, opened and clicked in the last year', Number, 6_000_000)
  .option('--rate <n>', 'events a second that arrive meanwhile', Number, 500)
  .option('--warm <n>', 'previews of each segment', Number, 20)
  .option('--cold <n>', 'previews of each segment just after a restart', Number, 3)
  .option('--explain', 'print the plan of each segment to stderr', false)
  .action(async (options: SegmentsBenchOptions) => {
    const machine = describeMachine();
    const result = await benchSegments(options);
    process.stdout.write(`${JSON.stringify({ bench: 'segments', machine, options, ...result }, null, 2)}\n`);
  });

program
  .command('size')
  .description('the same on an empty and on a large database: accepted/s, drained/s, lists, status, claims')
  .option('--messages <n>', 'messages sent in the last year', Number, 20_000_000)
  .option('--accounts <n>', 'accounts that sent them', Number, 10_000)
  .option('--queued <n>', 'messages that are queued', Number, 500_000)
  .option('--queued-accounts <n>', 'accounts whose messages these are', Number, 2_000)
  .option('--content-share <share>', 'share of the messages whose content is still kept', Number, 0.1)
  .option('--seconds <n>', 'seconds of each measurement', Number, 20)
  .action(async (options: SizeBenchOptions) => {
    const machine = describeMachine();
    const result = await benchSize(options);
    process.stdout.write(`${JSON.stringify({ bench: 'size', machine, options, ...result }, null, 2)}\n`);
  });

await program.parseAsync();

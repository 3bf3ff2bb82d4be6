import { Command } from 'commander';
import { benchBatch } from './batch.ts';
import { benchCallbacks } from './callbacks.ts';
import { benchCampaign } from './campaign.ts';
import { benchCompose } from './compose.ts';
import { benchLetters } from './letters.ts';
import { benchConsole } from './console.ts';
import { benchCost } from './cost.ts';
import { benchContacts } from './contacts.ts';
import { benchEvents } from './events.ts';
import { benchFairness } from './fairness.ts';
import { benchFlows } from './flows.ts';
import { describeMachine } from './machine.ts';
import { benchInbound } from './inbound.ts';
import { benchImports } from './imports.ts';
import { benchLive } from './live.ts';
import { benchProviders } from './providers.ts';
import { benchReports } from './reports.ts';
import { benchMcp } from './mcp.ts';
import { benchMessageFiles, bytesOf, type MessageFilesOptions } from './message-files.ts';
import { benchMessages, type MessagesBenchOptions } from './messages.ts';
import { benchScheduled, type ScheduledBenchOptions } from './messages-scheduled.ts';
import { benchNeighbour } from './neighbour.ts';
import { benchPause } from './pause.ts';
import { benchSegments } from './segments.ts';
import { benchSize } from './size.ts';
import { benchSubmission } from './submission.ts';
import { benchTracking } from './tracking.ts';
import { benchValidation } from './validation.ts';
import { benchWebhooks } from './webhooks.ts';
import { benchWhole } from './whole.ts';

const program = new Command('npm run bench --').description(
  'Benchmarks. Each prints one JSON document with the machine and commit, every run, and the medians.',
);

/** Returns an action that runs a benchmark and prints its document. */
function printing<Options>(bench: string, run: (options: Options) => Promise<object>) {
  return async (options: Options): Promise<void> => {
    const machine = describeMachine();
    const result = await run(options);
    process.stdout.write(`${JSON.stringify({ bench, machine, options, ...result }, null, 2)}\n`);
  };
}

program
  .command('messages')
  .description('accepted requests/s, backlog drained/s and end-to-end latency of POST /messages')
  .option('--runs <n>', 'number of runs; the medians are over all runs', Number, 3)
  .option('--seconds <n>', 'seconds of load in each run', Number, 8)
  .option('--backlog <n>', 'queued messages to drain', Number, 50_000)
  .option('--latency-seconds <n>', 'seconds at 20 requests/s', Number, 15)
  .option('--links <n>', 'tracked links in each drained message', Number, 0)
  .option('--file <size>', 'measure messages with a file of this size instead, such as 100k', bytesOf)
  .option('--rate <n>', 'messages with a file per second of the steady load', Number, 50)
  .option('--scheduled <n>', 'drain instead beside so many scheduled messages, and without them', Number)
  .action(
    printing<MessagesBenchOptions | MessageFilesOptions | ScheduledBenchOptions>('messages', (options) => {
      if ('file' in options) return benchMessageFiles(options);
      return 'scheduled' in options ? benchScheduled(options) : benchMessages(options);
    }),
  );

program
  .command('campaign')
  .description('a campaign from POST send to completed, with the processor time and memory of each process')
  .option('--runs <n>', 'number of runs; the medians are over all runs', Number, 3)
  .option('--recipients <n>', 'contacts of the list', Number, 100_000)
  .option('--senders <n>', 'sender processes', Number, 1)
  .option('--links <n>', 'tracked links in the body of 5 KB', Number, 5)
  .option('--dkim', 'sign with RSA and Ed25519', false)
  .option('--beside <folder>', 'another checkout, measured in turn with this one on the same database')
  .option('--statements', 'also measure the statements that PostgreSQL runs', false)
  .action(printing('campaign', benchCampaign));

program
  .command('flows')
  .description(
    'runs of a flow of six steps, singly and in cohorts: steps/s, what they cost, and what others wait meanwhile',
  )
  .option('--runs <n>', 'number of runs; the medians are over all runs', Number, 1)
  .option(
    '--entries <n>',
    'number of runs with workflows of their own, started as fast as possible',
    Number,
    1_000,
  )
  .option('--seconds <n>', 'duration of the latency measurement in seconds', Number, 20)
  .option('--rate <n>', 'events per second in it', Number, 5)
  .option('--workers <n>', 'worker processes', Number, 1)
  .option('--beside <folder>', 'another checkout, measured in turn with this one on the same database')
  .option('--burst <n>', 'number of entries at once, which go into cohorts; 0: none', Number, 0)
  .option('--beside-seconds <n>', 'how long campaigns, messages and another account are measured', Number, 60)
  .option('--statements', 'also measure the statements that PostgreSQL runs for the burst', false)
  .option('--sleeping <n>', 'number of runs that wait for a day while memory is read; 0: none', Number, 0)
  .action(printing('flows', benchFlows));

program
  .command('compose')
  .description('processor time to render and compose a message of a campaign, with a skeleton and as a whole')
  .option('--runs <n>', 'number of runs; the medians are over all runs', Number, 5)
  .option('--messages <n>', 'messages of each measurement', Number, 20_000)
  .option('--links <n>', 'tracked links in the body of 5 KB', Number, 5)
  .option('--dkim', 'sign with RSA and Ed25519; measure also without, and the bare signatures', false)
  .action(printing('compose', benchCompose));

program
  .command('batch')
  .description(
    'messages/s of POST /messages/batch against single requests, and what single ones wait beside it',
  )
  .option('--runs <n>', 'number of runs; the medians are over all runs', Number, 3)
  .option('--seconds <n>', 'duration of each measurement in seconds', Number, 8)
  .option('--messages <n>', 'messages of a batch', Number, 1_000)
  .action(printing('batch', benchBatch));

program
  .command('letters')
  .description('processor time to compose an email with a file, sign it and read it as a provider does')
  .option('--runs <n>', 'number of runs; the medians are over all runs', Number, 5)
  .option('--messages <n>', 'messages of each measurement', Number, 2_000)
  .option('--file-kb <n>', 'size of the file in KB', Number, 100)
  .action(printing('letters', benchLetters));

program
  .command('webhooks')
  .description(
    'webhook deliveries/s over HTTPS, latency, and the cost of dead endpoints for the others and the engine',
  )
  .option('--runs <n>', 'number of runs; the medians are over all runs', Number, 3)
  .option('--deliveries <n>', 'webhook deliveries per measured part', Number, 60_000)
  .option('--endpoints <n>', 'endpoints in the part with many endpoints', Number, 1_000)
  .option('--dead <n>', 'number of endpoints that never respond', Number, 100)
  .option('--latency-seconds <n>', 'seconds at 20 events/s', Number, 15)
  .action(printing('webhooks', benchWebhooks));

program
  .command('contacts')
  .description('new contacts/s by POST /contacts, each committed, into a brand with many contacts')
  .option('--runs <n>', 'number of runs; the medians are over all runs', Number, 3)
  .option('--seconds <n>', 'seconds of load in each run', Number, 15)
  .option('--contacts <n>', 'contacts that the brand has before', Number, 1_000_000)
  .option('--connections <n>', 'keep-alive connections', Number, 32)
  .action(printing('contacts', benchContacts));

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
  .action(printing('events', benchEvents));

program
  .command('imports')
  .description('rows/s of a CSV import into an empty and into a full brand, and the memory of the worker')
  .option('--runs <n>', 'number of runs; the medians are over all runs', Number, 3)
  .option('--rows <n>', 'rows of the file, each with six columns', Number, 1_000_000)
  .option('--contacts <n>', 'contacts of the full brand; half of the rows are among them', Number, 1_000_000)
  .action(printing('imports', benchImports));

program
  .command('mcp')
  .description('latency of the list of tools of assistants, and what a call of a tool adds to its route')
  .option('--runs <n>', 'number of runs; the medians are over all runs', Number, 3)
  .option('--requests <n>', 'measured requests of each kind in each run', Number, 500)
  .action(printing('mcp', benchMcp));

program
  .command('neighbour')
  .description('the service that an account gets while another one imports: contacts/s, and message latency')
  .option('--runs <n>', 'number of runs; the medians are over all runs', Number, 3)
  .option('--rows <n>', 'rows of the import; it must last as long as a measurement', Number, 300_000)
  .option('--seconds <n>', 'seconds of each measurement', Number, 15)
  .option('--rate <n>', 'messages per second that the neighbour posts', Number, 20)
  .action(printing('neighbour', benchNeighbour));

program
  .command('pause')
  .description(
    'how long the pause of an account takes under full load, until it is confirmed and until the last mail, and what requests wait meanwhile',
  )
  .option('--pauses <n>', 'number of times the account is paused and resumed', Number, 5)
  .option('--senders <n>', 'sender processes', Number, 2)
  .option('--connections <n>', 'number of connections that post messages', Number, 32)
  .action(printing('pause', benchPause));

program
  .command('callbacks')
  .description('reports/s that providers send to the callback routes, one and a hundred in each request')
  .option('--runs <n>', 'number of runs; the medians are over all runs', Number, 3)
  .option('--facts <n>', 'reports of each measurement', Number, 30_000)
  .action(printing('callbacks', benchCallbacks));

program
  .command('reports')
  .description('bounces/s that are mailed to the mail role, each accepted once it is committed')
  .option('--runs <n>', 'number of runs; the medians are over all runs', Number, 3)
  .option('--reports <n>', 'reports in each run', Number, 5_000)
  .option('--connections <n>', 'connections of the reporting servers, at most 20', Number, 16)
  .action(printing('reports', benchReports));

program
  .command('inbound')
  .description('mails/s to an inbox, signed by DKIM, from the SMTP client to the event that reports each')
  .option('--runs <n>', 'number of runs; the medians are over all runs', Number, 3)
  .option('--mails <n>', 'mails in each run, of 5 KB each', Number, 5_000)
  .option('--connections <n>', 'connections of the sending servers', Number, 32)
  .action(printing('inbound', benchInbound));

program
  .command('submission')
  .description(
    'mails/s that programs submit over TLS, with a text and an HTML of 2 KB, and with a PDF, each committed',
  )
  .option('--runs <n>', 'number of runs; the medians are over all runs', Number, 3)
  .option('--seconds <n>', 'seconds of load with each kind of mail', Number, 10)
  .option('--connections <n>', 'connections of the programs', Number, 32)
  .option('--pdf-kb <n>', 'size of the PDF in KB', Number, 100)
  .action(printing('submission', benchSubmission));

program
  .command('providers')
  .description('messages/s through one provider, alone and next to another that refuses connections or hangs')
  .option('--runs <n>', 'number of runs; the medians are over all runs', Number, 3)
  .option('--backlog <n>', 'queued messages of the working provider', Number, 30_000)
  .option('--stuck <n>', 'queued messages of the failing provider', Number, 5_000)
  .action(printing('providers', benchProviders));

program
  .command('live')
  .description(
    'API and sender at once: messages/s from POST to the SMTP server and a webhook, and latency at a rate',
  )
  .option('--runs <n>', 'number of runs; the medians are over all runs', Number, 3)
  .option('--seconds <n>', 'seconds of each measurement', Number, 15)
  .option('--rate <n>', 'requests per second of the steady measurement', Number, 500)
  .option('--paid', 'measure full load again, with a price, a spend cap and a wallet', false)
  .action(printing('live', benchLive));

const numbers = (text: string) => text.split(',').map(Number);

program
  .command('cost')
  .description(
    'processor time of a message in each process, at rest, at steady rates and under full load, and its latency',
  )
  .option('--rounds <n>', 'number of rounds; the medians are over all rounds', Number, 3)
  .option('--seconds <n>', 'seconds of each load', Number, 20)
  .option(
    '--rates <n,…>',
    'requests per second of the steady loads; 0: all roles at rest',
    numbers,
    [0, 20, 100, 500],
  )
  .option('--connections <n,…>', 'connections of the full loads', numbers, [32, 256])
  .option('--beside <folder>', 'another checkout, measured in turn with this one on the same database')
  .option('--webhook', 'subscribe a webhook to email.sent', false)
  .option('--accounts <n>', 'number of accounts that send', Number, 1)
  .option('--limited', 'messages have a limit per minute, which is never reached', false)
  .option('--paid', 'messages of the first account have a price, with a spend cap and a wallet', false)
  .option('--keys', 'requests have an idempotency key', false)
  .option('--apis <n>', 'number of API processes', Number, 1)
  .option('--senders <n>', 'number of sender processes', Number, 1)
  .option('--days <n>', 'days for which there are partitions of messages', Number, 400)
  .option('--statements', 'count the statements of a message', false)
  .action(printing('cost', benchCost));

program
  .command('whole')
  .description(
    'all roles under a steady load with a campaign and an import: lost or doubled mail, latency and memory by tenth of the time',
  )
  .option('--seconds <n>', 'seconds of load', Number, 600)
  .option('--rate <n>', 'messages posted per second, and half as many tracked events', Number, 100)
  .option(
    '--recipients <n>',
    'recipients of the campaign, which starts after a tenth of the time',
    Number,
    20_000,
  )
  .option('--rows <n>', 'rows of the import, which starts after a third of the time', Number, 50_000)
  .action(printing('whole', benchWhole));

program
  .command('tracking')
  .description('clicks/s and opens/s of tracked mail, every hit kept, and the latency of redirects at 200/s')
  .option('--runs <n>', 'number of runs; the medians are over all runs', Number, 3)
  .option('--seconds <n>', 'seconds of each measurement', Number, 10)
  .option('--messages <n>', 'messages whose links are followed', Number, 20_000)
  .action(printing('tracking', benchTracking));

program
  .command('fairness')
  .description('latency of a small account next to the backlog of a large one, with a slow relay')
  .option('--runs <n>', 'number of runs; the medians are over all runs', Number, 3)
  .option('--seconds <n>', 'how long the small account posts, in seconds', Number, 20)
  .option('--backlog <n>', 'queued messages of the large account', Number, 12_000)
  .option('--rate <n>', 'requests per second of the small account', Number, 5)
  .option('--message-ms <n>', 'how long the relay takes for a message, in ms', Number, 50)
  .option('--connections <n>', 'number of the sender’s connections', Number, 16)
  .action(printing('fairness', benchFairness));

program
  .command('segments')
  .description(
    'latency of previews of ten segments while events arrive, just after a start of PostgreSQL and later',
  )
  .option('--contacts <n>', 'contacts of the brand', Number, 1_000_000)
  .option('--events <n>', 'their tracked events in the last year, with twenty names', Number, 10_000_000)
  .option('--engagement <n>', 'mails sent, opened and clicked in the last year', Number, 6_000_000)
  .option('--rate <n>', 'events per second that arrive meanwhile', Number, 500)
  .option('--warm <n>', 'previews of each segment', Number, 20)
  .option('--cold <n>', 'previews of each segment just after a restart', Number, 3)
  .option('--explain', 'print the plan of each segment to stderr', false)
  .action(printing('segments', benchSegments));

program
  .command('size')
  .description('the same on an empty and on a large database: accepted/s, drained/s, lists, status, claims')
  .option('--messages <n>', 'messages sent in the last year', Number, 20_000_000)
  .option('--accounts <n>', 'accounts that sent them', Number, 10_000)
  .option('--queued <n>', 'number of queued messages', Number, 500_000)
  .option('--queued-accounts <n>', 'accounts whose messages these are', Number, 2_000)
  .option('--content-share <share>', 'share of the messages whose content is still kept', Number, 0.1)
  .option('--seconds <n>', 'seconds of each measurement', Number, 20)
  .action(printing('size', benchSize));

program
  .command('console')
  .description(
    'lists of 100 over a large brand, first paint on a slow machine and line, tasks while scrolling',
  )
  .option('--messages <n>', 'messages sent in the last year, one in 20 by the brand', Number, 20_000_000)
  .option('--accounts <n>', 'accounts that sent the others', Number, 10_000)
  .option('--contacts <n>', 'contacts of the brand', Number, 1_000_000)
  .option('--visits <n>', 'number of visits of each kind', Number, 5)
  .action(printing('console', benchConsole));

program
  .command('validation')
  .description('candidates/s with a cold and a warm DNS cache, and the time of quotes over a large brand')
  .option('--candidates <n>', 'candidates of an operation', Number, 50_000)
  .option('--domains <n>', 'domains of their addresses', Number, 2_000)
  .option('--contacts <n>', 'contacts of the brand that is quoted', Number, 1_000_000)
  .option('--quotes <n>', 'quotes of each audience', Number, 10)
  .action(printing('validation', benchValidation));

await program.parseAsync();

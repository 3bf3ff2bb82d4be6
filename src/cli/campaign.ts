import type { Command } from 'commander';
import type { OperatorView } from '../features/campaigns/service.ts';
import { inTransaction } from '../platform/db/queryable.ts';
import { factLines, print, withDatabase, type Fact } from './context.ts';
import { id } from './values.ts';

/** Imported on first use: this program also starts the roles, which need no commands. */
const approvals = () => import('../features/campaigns/service.ts');
const settings = () => import('../delivery/limits/authority.ts');

/** `carillon campaign list | show | approve | reject` */
export function addCampaignCommands(program: Command): void {
  const campaign = program.command('campaign').description('approve campaigns');
  campaign
    .command('list')
    .description('list the campaigns that wait for approval')
    .option('--all', 'all campaigns that have not ended', false)
    .action(async ({ all }: { all: boolean }, command: Command) => {
      const found = await withDatabase(async ({ config, database }) =>
        (await approvals()).listForOperator(database.pool, (await settings()).limitSettings(config), { all }),
      );
      const text = found.map((each) => factLines(describe(each))).join('\n\n');
      print(command, found, text === '' ? 'No campaign waits for approval.' : text);
    });
  campaign
    .command('show')
    .description('show a campaign with its subject and text')
    .argument('<campaign>', 'the id of the campaign', id)
    .action(async (campaignId: number, _options: object, command: Command) => {
      const shown = await withDatabase(async ({ config, database }) =>
        (await approvals()).showForOperator(
          database.pool,
          (await settings()).limitSettings(config),
          campaignId,
        ),
      );
      const facts: Fact[] = [...describe(shown), ['subject', shown.subject], ['text', shown.text]];
      print(command, shown, factLines(facts));
    });
  addDecision(campaign, 'approve', 'approve a campaign; it is sent when its time has come');
  addDecision(
    campaign,
    'reject',
    'reject a campaign, which pauses it; its owner may change it and send it again',
  );
}

function addDecision(campaign: Command, decision: 'approve' | 'reject', description: string): void {
  campaign
    .command(decision)
    .description(description)
    .argument('<campaign>', 'the id of the campaign', id)
    .action(async (campaignId: number, _options: object, command: Command) => {
      const decided = await withDatabase(async ({ config, database }) => {
        const limits = (await settings()).limitSettings(config);
        const { decide } = await approvals();
        return inTransaction(database.pool, (trx) => decide(trx, limits, campaignId, decision));
      });
      print(command, decided, factLines(describe(decided)));
    });
}

function describe(campaign: OperatorView): Fact[] {
  return [
    ['campaign', campaign.id],
    ['account', campaign.account_id],
    ['brand', campaign.brand_id],
    ['name', campaign.name],
    ['channel', campaign.channel],
    ['status', campaign.status],
    ['approval', campaign.approval_state],
    ['scheduled', campaign.scheduled_at],
    ['recipients', campaign.data.progress.audience_count],
    ['sent', campaign.data.progress.sent_count],
  ];
}

import type { OperatorContent, OperatorView } from '../features/campaigns/service.ts';
import type { CarillonCommand } from './command.ts';
import { changeAccount, fieldLines, ofRow, print, withDatabase, type Field } from './context.ts';
import { id, ids } from './values.ts';

/** Imported on first use: this program also starts the roles, which need no commands. */
const approvals = () => import('../features/campaigns/service.ts');
const settings = () => import('../delivery/ledger/limits/authority.ts');

/** `carillon campaign list | show | approve | reject` */
export function addCampaignCommands(program: CarillonCommand): void {
  const campaign = program.command('campaign').description('approve campaigns');
  campaign
    .command('list')
    .description('list the campaigns that wait for approval')
    .option('--all', 'all campaigns that have not ended', false)
    .action(async ({ all }: { all: boolean }, command: CarillonCommand) => {
      const found = await withDatabase(command, async ({ config, database }) =>
        (await approvals()).listForOperator(database.pool, (await settings()).limitSettings(config), { all }),
      );
      const text = found.map((each) => fieldLines(describe(each))).join('\n\n');
      print(command, found, text === '' ? 'No campaign waits for approval.' : text);
    });
  campaign
    .command('show')
    .description('show a campaign with the contents of all its variants')
    .argument('<campaign>', 'the id of the campaign', id)
    .action(async (campaignId: number, _options: object, command: CarillonCommand) => {
      const shown = await withDatabase(command, async ({ config, database }) =>
        (await approvals()).showForOperator(
          database.pool,
          (await settings()).limitSettings(config),
          campaignId,
        ),
      );
      const contents = shown.contents.map((content) => fieldLines(describeContent(content)));
      print(command, shown, [fieldLines(describe(shown)), ...contents].join('\n\n'));
    });
  campaign
    .command('approve')
    .description('approve a campaign; it is sent at its scheduled time')
    .argument('<campaign>', 'the id of the campaign', id)
    .requiredOption(
      '--versions <ids>',
      'the versions to approve, as "carillon campaign show" prints them',
      ids,
    )
    .action(async (campaignId: number, { versions }: { versions: number[] }, command: CarillonCommand) => {
      await decide(command, campaignId, { approve: versions });
    });
  campaign
    .command('reject')
    .description('reject a campaign, which pauses it; its owner may change it and send it again')
    .argument('<campaign>', 'the id of the campaign', id)
    .action(async (campaignId: number, _options: object, command: CarillonCommand) => {
      await decide(command, campaignId, 'reject');
    });
}

async function decide(
  command: CarillonCommand,
  campaignId: number,
  decision: { approve: number[] } | 'reject',
): Promise<void> {
  const decided = await changeAccount(
    command,
    decision === 'reject' ? 'campaign reject' : 'campaign approve',
    async (trx, { config }) => {
      const limits = (await settings()).limitSettings(config);
      const { decide } = await approvals();
      return decide(trx, limits, campaignId, decision);
    },
    ofRow,
  );
  print(command, decided, fieldLines(describe(decided)));
}

function describeContent(content: OperatorContent): Field[] {
  return [
    ['version', content.version_id],
    ['subject', content.subject],
    ['preheader', content.preheader],
    ['text', content.text],
    ['html', content.html],
  ];
}

function describe(campaign: OperatorView): Field[] {
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
    ['versions', campaign.version_ids.join(',')],
  ];
}

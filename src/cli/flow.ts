import type { OperatorFlow, OperatorFlowView } from '../features/flows/index.ts';
import type { CarillonCommand } from './command.ts';
import { changeAccount, fieldLines, ofRow, print, withDatabase, type Field } from './context.ts';
import { id, ids } from './values.ts';

/** Imported on first use: this program also starts the roles, which need no commands. */
const approvals = () => import('../features/flows/index.ts');

/** `carillon flow list | show | approve | reject` */
export function addFlowCommands(program: CarillonCommand): void {
  const flow = program.command('flow').description('approve flows');
  flow
    .command('list')
    .description('list the flows that wait for approval')
    .option('--all', 'all flows that are active or paused', false)
    .action(async ({ all }: { all: boolean }, command: CarillonCommand) => {
      const found = await withDatabase(command, async ({ database }) =>
        (await approvals()).listFlowsForOperator(database.pool, { all }),
      );
      const text = found.map((each) => fieldLines(describe(each))).join('\n\n');
      print(command, found, text === '' ? 'No flow waits for approval.' : text);
    });
  flow
    .command('show')
    .description('show a flow with its steps and everything they send')
    .argument('<flow>', 'the id of the flow', id)
    .action(async (flowId: number, _options: object, command: CarillonCommand) => {
      const shown = await withDatabase(command, async ({ database }) =>
        (await approvals()).showFlowForOperator(database.pool, flowId),
      );
      print(command, shown, describeWhole(shown));
    });
  flow
    .command('approve')
    .description('approve a flow; contacts enter from now on')
    .argument('<flow>', 'the id of the flow', id)
    .requiredOption('--versions <ids>', 'the versions to approve, as "carillon flow show" prints them', ids)
    .action(async (flowId: number, { versions }: { versions: number[] }, command: CarillonCommand) => {
      await decide(command, flowId, { approve: versions });
    });
  flow
    .command('reject')
    .description('reject a flow, which pauses it; its owner may change it and activate it again')
    .argument('<flow>', 'the id of the flow', id)
    .action(async (flowId: number, _options: object, command: CarillonCommand) => {
      await decide(command, flowId, 'reject');
    });
}

async function decide(
  command: CarillonCommand,
  flowId: number,
  decision: { approve: number[] } | 'reject',
): Promise<void> {
  const decided = await changeAccount(
    command,
    decision === 'reject' ? 'flow reject' : 'flow approve',
    async (trx) => (await approvals()).decideFlow(trx, flowId, decision),
    ofRow,
  );
  print(command, decided, fieldLines(describe(decided)));
}

function describe(flow: OperatorFlow): Field[] {
  return [
    ['flow', flow.id],
    ['account', flow.account_id],
    ['brand', flow.brand_id],
    ['name', flow.name],
    ['status', flow.status],
    ['approval', flow.approval_state],
    ['trigger', JSON.stringify(flow.trigger)],
    ['goal', flow.goal],
  ];
}

function describeWhole(flow: OperatorFlowView): string {
  const contents = flow.contents.map((content) =>
    fieldLines([
      ['step', content.step],
      ['version', content.version_id],
      ['channel', content.channel],
      ['from', [content.from_name, content.from_email].filter((part) => part !== null).join(' ') || null],
      ['subject', content.subject],
      ['preheader', content.preheader],
      ['text', content.text],
      ['html', content.html],
    ]),
  );
  const fields: Field[] = [...describe(flow), ['versions', flow.versions.join(',')]];
  return [fieldLines(fields), `steps\n${JSON.stringify(flow.steps, null, 2)}`, ...contents].join('\n\n');
}

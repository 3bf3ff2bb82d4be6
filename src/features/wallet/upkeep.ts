import type { Upkeep } from '../../platform/housekeeping/upkeep.ts';
import { checkMoney } from './check.ts';
import { postMonths } from './months.ts';
import { topUpSource } from './workflow.ts';

export const walletUpkeep: Upkeep = { tasks: [postMonths, checkMoney], expectedWorkflows: [topUpSource] };

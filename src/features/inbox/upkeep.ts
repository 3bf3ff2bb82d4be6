import type { Upkeep } from '../../platform/housekeeping/upkeep.ts';
import { scanSource } from './scan/workflow.ts';

export const inboxUpkeep: Upkeep = {
  expectedWorkflows: [scanSource],
};

import type { Upkeep } from '../../platform/housekeeping/upkeep.ts';
import { campaignSource } from './workflow.ts';

export const campaignsUpkeep: Upkeep = { expectedWorkflows: [campaignSource] };

/** A program that bundles the workflows like a role does, and prints by how many megabytes its peak memory grows. */
import { bundleWorkflows } from '../../src/platform/temporal/bundle.ts';

const peakMb = () => process.resourceUsage().maxRSS / 1_024;

const before = peakMb();
const { code } = await bundleWorkflows();
process.stdout.write(JSON.stringify({ grownMb: peakMb() - before, hasCampaigns: code.includes('campaign') }));
process.disconnect?.();

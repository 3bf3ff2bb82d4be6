// Bundling the workflows does not load the bundler into the memory of the calling role.
import { expect, it } from '@jest/globals';
import { bundleWorkflows } from '../../../src/platform/temporal/bundle.ts';

const peakMb = () => process.resourceUsage().maxRSS / 1_024;

it('bundles the workflows without the memory of a bundler in the role that asks', async () => {
  const before = peakMb();
  const { code } = await bundleWorkflows();
  expect(code).toContain('campaign');
  expect(peakMb() - before).toBeLessThan(80);
}, 120_000);

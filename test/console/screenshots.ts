/** `npm run screenshots`: writes the pictures of docs/images from a whole service with data of a small shop. */
import { mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { PROJECT } from '../../src/local/console/bundle-files.ts';
import { act, filledList, readyCampaign } from '../support/campaign-requests.ts';
import { fillAccount, type strangersTexts } from '../support/console-data.ts';
import { pathWith } from '../support/console-pages.ts';
import { type RunningConsole, startConsole } from '../support/console-stage.ts';
import { eventually } from '../support/eventually.ts';
import { startTestServices } from '../support/test-services.ts';
import { wholeService } from '../support/whole-service.ts';

const FOLDER = join(PROJECT, 'docs', 'images');
const MAX_BYTES = 200_000;

const pictures: readonly { name: string; path: string; theme: 'light' | 'dark' }[] = [
  { name: 'overview', path: '', theme: 'light' },
  { name: 'messages', path: '/messages', theme: 'dark' },
  { name: 'message', path: '/messages/$messageId', theme: 'light' },
  { name: 'contact', path: '/contacts/$contactId', theme: 'dark' },
  { name: 'campaign', path: '/campaigns/$campaignId', theme: 'light' },
  { name: 'flow', path: '/flows/$flowId', theme: 'dark' },
  { name: 'domain', path: '/domains/$domainId', theme: 'light' },
  { name: 'webhook-delivery', path: '/webhooks/$webhookId/deliveries/$deliveryId', theme: 'dark' },
  { name: 'conversation', path: '/inbox/$conversationId', theme: 'light' },
  { name: 'suppressions', path: '/suppressions', theme: 'dark' },
];

const texts: typeof strangersTexts = {
  'first name': 'Ada',
  'contact data': 'pro',
  'event data': 'from the website',
  'subject of a message': 'Your order 1042 is on its way',
  'subject of a mail': 'When does my order arrive?',
  'sender of a mail': 'Ada Lovelace',
  'text of a mail': 'I ordered on Monday. Can you tell me when it arrives?',
  'name of an attachment': 'receipt.txt',
  'name of an imported file': 'customers.csv',
  'user agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
  'diagnostic of a bounce': '550 5.1.1 The email account that you tried to reach does not exist',
  'response to a webhook': 'The database of the shop is down',
  'name of an assistant': 'A desktop assistant',
};

/** Sends a campaign to a hundred contacts. @returns its id */
async function sendCampaign(stage: RunningConsole): Promise<number> {
  const { listId } = await filledList(stage, stage, 100);
  const id = await readyCampaign(stage, listId, { name: 'Summer sale' });
  const { status, text } = await act(stage, id, 'send');
  if (status !== 200) throw new Error(text);
  await eventually(async () => {
    const { body } = await stage.request('GET', `/v1/my/campaigns/${id}`);
    if (String(body.status) !== 'completed') throw new Error(`the campaign is ${String(body.status)}`);
  }, 120_000);
  return id;
}

async function takePictures(stage: RunningConsole, ids: Record<string, number>): Promise<void> {
  for (const theme of ['light', 'dark'] as const) {
    const page = await stage.signIn({ theme });
    await page.setViewportSize({ width: 1200, height: 720 });
    for (const { name, path } of pictures.filter((picture) => picture.theme === theme)) {
      await stage.open(page, pathWith(path, ids));
      const file = join(FOLDER, `console-${name}.png`);
      await page.screenshot({ path: file });
      const { size } = await stat(file);
      if (size > MAX_BYTES) throw new Error(`${file} has ${size} bytes; at most ${MAX_BYTES} are allowed`);
      process.stdout.write(`${file}\n`);
    }
  }
}

const services = await startTestServices({ whole: wholeService });
process.env.CARILLON_TEST_SERVICES = services.address;
try {
  const stage = await startConsole(['Acme', 'Other Company']);
  try {
    const ids = await fillAccount(stage, texts);
    const campaignId = await sendCampaign(stage);
    await mkdir(FOLDER, { recursive: true });
    await takePictures(stage, { ...ids, campaignId });
  } finally {
    await stage.close();
  }
} finally {
  await services.stop();
}
process.exit();

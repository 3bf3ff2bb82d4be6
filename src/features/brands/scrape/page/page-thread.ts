/**
 * The thread that reads what websites contain, one part after another. If a page makes it hang or crash, `reader.ts`
 * ends it.
 */
import { parentPort } from 'node:worker_threads';
import { readPage } from './document.ts';
import { decodeCss, decodeHtml } from './encoding.ts';
import { findIdentity } from './identity.ts';
import type { Jobs, PageFindings, ThreadJob, ThreadReply } from './jobs.ts';
import { findLook } from './look.ts';
import { bytesOfData, DrawingBrokenError, type LogoImage, readInlineLogo, readLogo } from './logo-image.ts';
import { findLogos } from './logos.ts';
import { isAllowed, readRobots } from './robots.ts';
import { findSheets, sheetsIn } from './sheets.ts';
import { readOrganization } from './structured-data.ts';
import { importsOf } from './stylesheets.ts';

function findOnPage({ page: source, sheets }: Jobs['page']['job']): PageFindings {
  const page = readPage(decodeHtml(source), source.url);
  const organization = readOrganization(page);
  return {
    ...findLook(page, sheetsIn(page, sheets)),
    ...findIdentity(page, organization),
    logos: findLogos(page, organization),
  };
}

function findLogo({ logo, color }: Jobs['logo']['job']): Promise<LogoImage | null> {
  if ('svg' in logo) return readInlineLogo(logo.svg, color);
  return readLogo('data' in logo ? bytesOfData(logo.data) : logo.bytes, color);
}

function work(job: ThreadJob): unknown {
  switch (job.name) {
    case 'robots':
      return readRobots(new TextDecoder().decode(job.text), job.agent);
    case 'allowed':
      return isAllowed(job.rules, job.url);
    case 'sheets':
      return findSheets(readPage(decodeHtml(job.page), job.page.url));
    case 'imports':
      return importsOf(decodeCss(job.sheet), job.sheet.url);
    case 'page':
      return findOnPage(job);
    case 'logo':
      return findLogo(job);
  }
}

async function reply(job: ThreadJob): Promise<void> {
  let answer: ThreadReply;
  try {
    answer = { value: await work(job) };
  } catch (error) {
    // This thread ends, and another one does the next job.
    if (error instanceof DrawingBrokenError) process.exit(1);
    answer = { failure: (error as Error).message };
  }
  parentPort?.postMessage(answer);
}

parentPort?.on('message', (job: ThreadJob) => void reply(job));
parentPort?.postMessage('ready');

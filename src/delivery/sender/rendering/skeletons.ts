/** Finds the skeleton of the messages of a version: everything about them that is the same for all recipients. */
import { LRUCache } from 'lru-cache';
import type { ContentEngine, DividedContent, DividedText } from '../../content/templates/content.ts';
import { createSkeleton, type Skeleton } from '../../content/skeletons/skeleton.ts';
import { type ComposeDeps, valid } from '../compose/compose-email.ts';
import { BULK_HEADERS, feedbackIdOf, type Rendering, type VersionGroup } from '../compose/version-groups.ts';

/** A skeleton, and the texts that provide its values. */
export interface DividedSkeleton {
  skeleton: Skeleton;
  html: DividedText;
  text: DividedText;
  subject: DividedText | null;
}

const MAX_SKELETONS = 64;
/**
 * Maximum length of a content that gets a skeleton, because creating one blocks the event loop. Longer contents are
 * composed one by one, in threads.
 */
const MAX_SKELETON_CHARACTERS = 256 * 1024;
/** Outputs that are links to Carillon's own pages. In a text, they may have brackets. */
const OWN_LINK = /^(?:unsubscribe_url|preferences_url)(?:\s*\| in_brackets: " ?")?$/;

const ownLinksOf = ({ outputs }: DividedText): ReadonlySet<number> =>
  new Set([...outputs.keys()].filter((n) => OWN_LINK.test(outputs[n] ?? '')));

const isEmpty = ({ parts }: DividedText): boolean => parts.every((part) => part.trim() === '');

export interface SkeletonDeps extends Pick<ComposeDeps, 'links' | 'readSender'> {
  engine: Pick<ContentEngine, 'divide'>;
}

/** @returns a function that returns null if the messages have to be composed one by one */
export function createSkeletons({ engine, links, readSender }: SkeletonDeps) {
  const cache = new LRUCache<string, { found: DividedSkeleton | null }>({ max: MAX_SKELETONS });

  function make(
    message: Rendering['message'],
    { shared: { linkParameters } }: VersionGroup,
    { html, text, subject }: DividedContent,
  ): DividedSkeleton | null {
    if (!html || !text || isEmpty(html) || isEmpty(text)) return null;
    const skeleton = createSkeleton({
      html: html.parts,
      text: text.parts,
      ownLinks: ownLinksOf(html),
      ownTextLinks: ownLinksOf(text),
      parameters: linkParameters,
      tracking: links?.plan(message) ?? null,
      targetToken: (target) => links?.targetToken(message, target) ?? '',
      from: valid(readSender(message.from ?? ''), 'from'),
      replyTo: message.replyTo === null ? null : valid(readSender(message.replyTo), 'reply_to'),
      headers: BULK_HEADERS,
      feedbackId: feedbackIdOf(message),
    });
    return skeleton && { skeleton, html, text, subject };
  }

  return (message: Rendering['message'], group: VersionGroup): DividedSkeleton | null => {
    const { version, shared } = group;
    if ((version.html?.length ?? 0) + (version.text?.length ?? 0) > MAX_SKELETON_CHARACTERS) return null;
    const { campaign, flow, tracking, from, replyTo } = message;
    const plan = links?.plan(message)?.id ?? '';
    const key = `${version.id} ${campaign?.id} ${flow?.id} ${tracking?.key} ${plan} ${shared.linkParameters.join('&')} ${from} ${replyTo}`;
    const cached = cache.get(key);
    if (cached) return cached.found;
    const divided = engine.divide(version);
    const found = divided && make(message, group, divided);
    cache.set(key, { found });
    return found;
  };
}

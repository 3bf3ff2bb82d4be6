/** What pages of the documentation may refer to: files and pages that exist. */
import { posix } from 'node:path';

/** Where a path in a page may begin: the documentation leaves out `src/`. */
const ROOTS = ['', 'src/'];
/** A path in backticks, such as `delivery/sender/loop/loop.ts`. Names without a folder could be anywhere. */
const MENTION = /`((?:[\w.-]+\/)+[\w.-]+\.(?:ts|js|md|sql|json|yml|toml|py))(?:`|:)/g;
/** The target of a link, without the anchor. */
const LINK = /\]\((?!\w+:)([^)#\s]+)(?:#[^)]*)?\)/g;
/** The example of "Adding a resource" does not exist, nor do the files that a running service writes. */
const EXAMPLES = /(?:^|\/)(?:notes|[.]carillon)(?:\/|[.]|$)|^migrations\/\d+_notes/;

/**
 * @param path of a Markdown file
 * @param exists whether the project has a file or folder
 * @returns what the page refers to but does not exist, as `path:line: message`
 */
export function findDocFaults(path: string, text: string, exists: (path: string) => boolean): string[] {
  if (!/^(?:docs\/[^/]+|README|test\/README|src\/.*README)[.]?(?:md)?$/.test(path)) return [];
  const folder = posix.dirname(path);
  return text.split('\n').flatMap((line, index) => {
    const mentions = [...line.matchAll(MENTION)].map(([, name = '']) => name);
    const lost = mentions.filter(
      (name) =>
        !EXAMPLES.test(name) &&
        ![...ROOTS, `${folder}/`].some((root) => exists(posix.normalize(root + name))),
    );
    const links = [...line.matchAll(LINK)].map(([, target = '']) => target);
    const dead = links.filter((target) => !exists(posix.join(folder, target)));
    return [...lost, ...dead].map((name) => `${path}:${index + 1}: ${name} does not exist.`);
  });
}

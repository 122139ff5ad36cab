// How the site finds sections. The search box of the site and `questions.ts` use these options.

import type { Options, SearchOptions } from 'minisearch';
import type { DefaultTheme } from 'vitepress';

/** What VitePress indexes and answers. */
const fields = { fields: ['title', 'titles', 'text'], storeFields: ['title', 'titles'] };

// The browser gets these functions as text, so each holds all that it uses.

/** Small letters, and nothing for a word that each page has. */
function processTerm(term: string): string | undefined {
  const small =
    'a an and are as at be by can did do does for from has have how i if in is it its me my no not of on or that the to was what when where which who why with';
  const word = term.toLowerCase();
  return small.split(' ').includes(word) ? undefined : word;
}

const rank: SearchOptions = {
  boost: { title: 4, text: 2, titles: 1 },
  // A short word has too many others that are like it: "add" and "and".
  prefix: (term) => term.length > 2,
  fuzzy: (term) => (term.length > 4 ? 0.2 : false),
  // Pages for those who use the service come before those who change it.
  boostDocument: (id) => (/^\/(test\/|CHANGELOG|CONTRIBUTING)/.test(String(id)) ? 0.4 : 1),
};

export const miniSearch: Options = { ...fields, processTerm, searchOptions: rank };

export const searchOptions: DefaultTheme.LocalSearchOptions = {
  // Shows the text around the words that it finds.
  detailedView: true,
  miniSearch: { options: { processTerm }, searchOptions: rank },
  // Decisions say why the service is as it is, not how to use it.
  _render: (source, env, md) =>
    env.relativePath.startsWith('docs/adr/') ? '' : md.render(source, env),
};

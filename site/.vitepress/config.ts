// The site of the documents: every Markdown file of the project, in the folders of the project.

import { slug } from 'github-slugger';
import type { Plugin } from 'vite';
import { defineConfig } from 'vitepress';
import { drawings, plainBraces, plainLabels, sourcesAsText } from './markdown.ts';
import { searchOptions } from './search.ts';
import { readSidebar } from './sidebar.ts';

/** Pages are outside of this folder, whose packages they need. */
const vueForPages: Plugin = {
  name: 'vue-for-pages',
  enforce: 'pre',
  resolveId(source, importer, options) {
    if (!/^vue(\/|$)/.test(source) || !importer?.endsWith('.md')) return null;
    return this.resolve(source, import.meta.filename, options);
  },
};

export default defineConfig({
  title: 'cyborg-serverless',
  description: "OpenStack Cyborg's v2 accelerator service on AWS",
  srcDir: '..',
  srcExclude: ['**/{cdk.out,coverage,dist}/**'],
  // Pages are indexed in turn, so that the same commit gives the same index.
  buildConcurrency: 1,
  markdown: {
    // A `<host>` in a sentence is text.
    html: false,
    anchor: { slugify: slug },
    config: (md) => md.use(sourcesAsText).use(plainLabels).use(drawings).use(plainBraces),
  },
  themeConfig: {
    logoLink: '/docs/README.html',
    sidebar: readSidebar(),
    outline: [2, 3],
    externalLinkIcon: true,
    search: { provider: 'local', options: searchOptions },
  },
  vite: {
    plugins: [vueForPages],
    ssr: { external: ['vue', 'vue/server-renderer'] },
    // The index of the search is one chunk.
    build: { chunkSizeWarningLimit: 4000 },
  },
});

// VitePress's theme with the fonts of the reader's system, and drawings.

import type { Theme } from 'vitepress';
import DefaultTheme from 'vitepress/theme-without-fonts';
import { MermaidDrawing } from './mermaid-drawing.ts';

export default {
  extends: DefaultTheme,
  enhanceApp: ({ app }) => {
    app.component('MermaidDrawing', MermaidDrawing);
  },
} satisfies Theme;

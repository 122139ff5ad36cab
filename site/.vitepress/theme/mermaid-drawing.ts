// A drawing in Mermaid, which the browser draws. Until then, and without scripts, it is its text.

import mermaidUrl from '@mermaid-js/tiny/dist/mermaid.tiny.js?url';
import { useData } from 'vitepress';
import { defineComponent, h, onMounted, ref, useId, watch } from 'vue';

interface Mermaid {
  initialize(settings: Readonly<Record<string, unknown>>): void;
  render(id: string, text: string): Promise<{ svg: string }>;
}

let loading: Promise<Mermaid> | undefined;

/** Mermaid's own build is a script that sets a global, not a module. */
function loadMermaid(): Promise<Mermaid> {
  loading ??= new Promise((resolve, reject) => {
    const script = document.createElement('script');
    script.src = mermaidUrl;
    script.onload = () => resolve((globalThis as unknown as { mermaid: Mermaid }).mermaid);
    script.onerror = reject;
    document.head.append(script);
  });
  return loading;
}

export const MermaidDrawing = defineComponent({
  props: { text: { type: String, required: true } },
  setup: ({ text }) => {
    const { isDark } = useData();
    const id = `drawing-${useId()}`;
    const svg = ref('');
    const draw = async () => {
      const mermaid = await loadMermaid();
      mermaid.initialize({
        startOnLoad: false,
        theme: isDark.value ? 'dark' : 'neutral',
        // A wide drawing scrolls on a narrow screen, and stays readable.
        sequence: { useMaxWidth: false },
        state: { useMaxWidth: false },
        flowchart: { useMaxWidth: false },
      });
      svg.value = (await mermaid.render(id, text)).svg;
    };
    onMounted(draw);
    watch(isDark, draw);
    return () =>
      svg.value ? h('div', { innerHTML: svg.value, style: 'overflow-x: auto' }) : h('pre', text);
  },
});

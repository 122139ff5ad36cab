// The search over everything, in front of any screen. Arrow keys choose a result, Enter opens it.

import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { Dialog } from '#console/parts/dialog/dialog.tsx';
import { Icon } from '#console/parts/icon.tsx';
import { counted } from '#console/parts/time/time-text.ts';
import type { Found } from './lookups.ts';
import { useSearch } from './use-search.ts';

/** The button, and the keys that stand for it: Ctrl-K, and / outside of fields. */
export function Search() {
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (!isShortcut(event) || document.querySelector('dialog[open]')) return;
      event.preventDefault();
      setOpen(true);
    };
    addEventListener('keydown', onKeyDown);
    return () => removeEventListener('keydown', onKeyDown);
  }, []);
  return (
    <>
      <button type="button" aria-keyshortcuts="Control+K /" onClick={() => setOpen(true)}>
        <Icon name="search" /> <span class="wide">Search</span>{' '}
        <span class="keys" aria-hidden="true">
          Ctrl K
        </span>
      </button>
      {isOpen && <Palette onClose={() => setOpen(false)} />}
    </>
  );
}

function isShortcut({ key, ctrlKey, metaKey, altKey, target }: KeyboardEvent): boolean {
  if (key.toLowerCase() === 'k') return (ctrlKey || metaKey) && !altKey;
  const isTyped = target instanceof Element && target.matches('input, select, textarea');
  return key === '/' && !ctrlKey && !metaKey && !altKey && !isTyped;
}

function Palette({ onClose }: { readonly onClose: () => void }) {
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const [text, setText] = useState('');
  const [chosen, setChosen] = useState(0);
  const { results, isReading, note } = useSearch(text);
  const active = Math.min(chosen, results.length - 1);
  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' });
  }, [active]);

  const open = ({ href }: Found) => {
    onClose();
    location.hash = href;
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined && results.length > 0) {
      setChosen((active + step + results.length) % results.length);
    } else if (event.key === 'Enter') {
      const result = results[active];
      if (result) open(result);
    } else return;
    event.preventDefault();
  };
  const placed = results.map((result, place) => ({ ...result, place }));
  return (
    <Dialog title="Search" onClose={onClose}>
      <div class="palette">
        <input
          type="text"
          role="combobox"
          aria-label="Host, server, request, project, user, profile, PCI address or serial number"
          placeholder="Name, id, PCI address or serial:NUMBER"
          aria-expanded={results.length > 0}
          aria-controls={`${id}-results`}
          aria-autocomplete="list"
          aria-activedescendant={active >= 0 ? `${id}-${active}` : undefined}
          autocomplete="off"
          spellcheck={false}
          value={text}
          onInput={(event) => {
            setText(event.currentTarget.value);
            setChosen(0);
          }}
          onKeyDown={onKeyDown}
        />
        <p role="status" class="quiet">
          {statusText(results.length, isReading)}
        </p>
        {note && <p class="hint">{note}</p>}
        <div ref={list} id={`${id}-results`} role="listbox" aria-label="Results">
          {[...Map.groupBy(placed, ({ kind }) => kind)].map(([kind, ofKind]) => (
            // biome-ignore lint/a11y/useSemanticElements: a fieldset is not part of a list.
            <div key={kind} role="group" aria-label={kind}>
              <p aria-hidden="true">{kind}</p>
              {ofKind.map((result) => (
                // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the keys.
                <div
                  key={result.href}
                  id={`${id}-${result.place}`}
                  role="option"
                  tabIndex={-1}
                  aria-selected={result.place === active}
                  onClick={() => open(result)}
                >
                  <span>{result.title}</span> <span class="quiet">{result.note}</span>
                </div>
              ))}
            </div>
          ))}
        </div>
      </div>
    </Dialog>
  );
}

function statusText(count: number, isReading: boolean): string {
  if (isReading) return 'Looking...';
  return count === 0 ? 'Nothing has this name, id or address.' : counted(count, 'result');
}

// The icons of the console. They are drawn, because many fonts have no such signs.

const filled = {
  good: 'M8 2.5a5.5 5.5 0 1 1 0 11a5.5 5.5 0 0 1 0-11z',
  warning: 'M8 2L15 14H1z',
} as const;

const drawn = {
  bad: 'M3 3l10 10M13 3L3 13',
  pending: 'M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2zM8 4.5V8h3',
  neutral: 'M8 2.5a5.5 5.5 0 1 1 0 11a5.5 5.5 0 0 1 0-11z',
  ascending: 'M3.5 10.5L8 6l4.5 4.5',
  descending: 'M3.5 6L8 10.5L12.5 6',
  dark: 'M13.5 9.5A6 6 0 0 1 6.5 2.5a6 6 0 1 0 7 7z',
  light:
    'M8 5a3 3 0 1 1 0 6a3 3 0 0 1 0-6zM8 0v2.5M8 13.5V16M0 8h2.5M13.5 8H16M2.5 2.5l1.5 1.5M12 12l1.5 1.5M13.5 2.5L12 4M4 12l-1.5 1.5',
  search: 'M7 2a5 5 0 1 1 0 10A5 5 0 0 1 7 2zM10.5 10.5L15 15',
  copy: 'M5.5 5.5h9v9h-9zM3.5 10.5h-2v-9h9v2',
} as const;

export type IconName = keyof typeof filled | keyof typeof drawn;

/** A word beside it, or the label of its button, says the same. */
export function Icon({ name }: { readonly name: IconName }) {
  const isFilled = name in filled;
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path
        d={{ ...filled, ...drawn }[name]}
        fill={isFilled ? 'currentColor' : 'none'}
        stroke={isFilled ? 'none' : 'currentColor'}
        stroke-width="2"
      />
    </svg>
  );
}

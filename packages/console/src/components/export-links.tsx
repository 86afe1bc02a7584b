import { EXPORT_FORMATS } from '../export.ts';

/** Links that download a whole list as a file: `url` has its filters and its order. */
export function ExportLinks({ url }: { readonly url: string }) {
  const separator = url.includes('?') ? '&' : '?';
  return (
    <p>
      Export all as{' '}
      {EXPORT_FORMATS.map((format, index) => (
        <>
          {index > 0 && ' or '}
          <a href={`${url}${separator}format=${format}`} download>
            {format.toUpperCase()}
          </a>
        </>
      ))}
    </p>
  );
}

/** A link that downloads a whole list as a file: `url` has its filters and its order. */
export function ExportLink({ url }: { readonly url: string }) {
  return (
    <p>
      <a href={`${url}${url.includes('?') ? '&' : '?'}format=csv`} download>
        Export all as CSV
      </a>
    </p>
  );
}

// A web site that says who asked for which page.
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.Hosting;

static class Program
{
    static void Main(string[] args)
    {
        Host.CreateDefaultBuilder(args).ConfigureWebHostDefaults(web => web.Configure(app => app.Run(async asked =>
        {
            var page = asked.Request.Path + asked.Request.QueryString;
            await asked.Response.WriteAsync("the page is " + page);
        }))).Build().Run();
    }
}
